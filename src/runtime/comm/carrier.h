#pragma once
// Carries the bytes of messages between the ranks of a group. The algorithms (messages/message_group.h) use it. An
// implementation is a folder.

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>

#include "base/collective_algorithm.h"
#include "base/dtype.h"
#include "base/reduce.h"
#include "runtime/comm/event_count.h"

namespace partita {

/// The call to which a message belongs. The receiver compares it with its own if the carrier transmits it.
struct MessageLabel {
  Collective kind = Collective::barrier;
  DType dtype = DType::u8;
  Reduce reduce = Reduce::none;
  int32_t root = -1;
  bool operator==(const MessageLabel&) const = default;
};

/// A message in transit. The object and its buffer must not move until the message is done or withdrawn.
struct PendingMessage {
  enum class Way { send, receive };
  Way way = Way::send;
  std::byte* data = nullptr;
  int64_t bytes = 0;
  int peer = 0;  // rank in the group
  int tag = 0;   // messages between two ranks with the same tag arrive in order
  MessageLabel label{};

  // Set by the carrier.
  bool done = false;
  int64_t received = 0;   // bytes received; more than `bytes` if the message does not fit
  bool too_long = false;  // the message does not fit, and its size is unknown
  std::optional<MessageLabel> received_label{};
  std::array<std::byte, 16> own{};  // for the carrier's own use
};

/// The carrier of one group. Several threads may use carriers of one world concurrently, each thread its own.
class Carrier {
 public:
  static constexpr int64_t kMaxBytes = kMaxMessageBytes;

  virtual ~Carrier() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// Whether a rank of the group has ended its program normally, so that no more messages come from it. False if the
  /// carrier cannot detect that, as here.
  virtual bool has_left(int /*peer*/) const { return false; }

  // All functions below throw RuntimeFailure if the carrier has failed, except `is_done` and `withdraw`.
  /// Starts to send or to receive a message. Throws RuntimeFailure if the carrier has failed.
  virtual void start(PendingMessage& transfer) = 0;
  /// Copies the message and returns at once; it is sent in the background. Throws RuntimeFailure if the carrier has
  /// failed.
  virtual void post(const PendingMessage& message) = 0;
  /// Moves messages until the first `count` of `transfers` are done, `until` has passed, or the world has failed.
  /// Returns whether they are done; also true as soon as a received message turns out not to fit (`too_long`). Throws
  /// RuntimeFailure if the carrier has failed.
  virtual bool wait(std::deque<PendingMessage>& transfers, size_t count, Deadline until) = 0;
  /// Whether a started message is done. Other messages of its list may progress during the call.
  virtual bool is_done(const PendingMessage& message) const { return message.done; }
  /// Withdraws the messages that are not done. Returns false if one of them is a send, or a receive for which something
  /// has arrived: the messages of the group no longer match then.
  virtual bool withdraw(std::deque<PendingMessage>& transfers) noexcept = 0;
  /// Makes the carrier of a group of some of the ranks: `members`, ranks of this group in the order of the new ranks.
  /// All ranks call it, each for its own group. `id` identifies the new group: the same on all its ranks, different
  /// from any other group's. Throws RuntimeFailure if the carrier has failed.
  virtual std::unique_ptr<Carrier> split(uint64_t id, std::span<const int> members) = 0;
};

}  // namespace partita
