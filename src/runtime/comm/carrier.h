#pragma once
// What carries the bytes of messages between the ranks of a group. Algorithms (messages/message_group.h) stand above
// it; an implementation is a folder.

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>

#include "base/collective.h"
#include "base/dtype.h"
#include "base/reduce.h"
#include "runtime/comm/event_count.h"

namespace partita {

/// The call that a message belongs to, which its receiver compares with its own where the carrier brings it.
struct MessageLabel {
  Collective kind = Collective::barrier;
  DType dtype = DType::u8;
  Reduce reduce = Reduce::none;
  int32_t root = -1;
  bool operator==(const MessageLabel&) const = default;
};

/// A message under way. It stays where it is, and so does its buffer, until it is done or was withdrawn.
struct PendingMessage {
  enum class Way { send, receive };
  Way way = Way::send;
  std::byte* data = nullptr;
  int64_t bytes = 0;
  int peer = 0;  // a rank of the group
  int tag = 0;   // messages of a pair with one tag arrive in order
  MessageLabel label{};

  // What the carrier says.
  bool done = false;
  int64_t came = 0;       // bytes of a message that was received; more than `bytes`: it does not fit
  bool too_long = false;  // as `came`, where it is not known how much more came
  std::optional<MessageLabel> came_with{};
  std::array<std::byte, 16> own{};  // the carrier's
};

/// One for each group. Several threads may use carriers of one world at a time, each thread its own.
class Carrier {
 public:
  static constexpr int64_t kMaxBytes = int64_t{64} << 20;  // of a message

  virtual ~Carrier() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// Whether a rank of the group has ended its program well, so that nothing comes from it any more.
  virtual bool has_left(int /*peer*/) const { return false; }

  // All throw RuntimeFailure where the carrier has failed.
  virtual void start(PendingMessage& transfer) = 0;
  /// Copies the message and returns at once.
  virtual void post(const PendingMessage& message) = 0;
  /// Moves messages. Returns when the first `count` of them are done, `until` has passed, or the world has failed;
  /// whether they are done.
  virtual bool wait(std::deque<PendingMessage>& transfers, size_t count, Deadline until) = 0;
  /// Of a message that was started; the others of its list may go on meanwhile.
  virtual bool is_done(const PendingMessage& message) const { return message.done; }
  /// Takes back what is not done yet. False when one has begun to come, or to go: messages of the group no longer
  /// belong together.
  virtual bool withdraw(std::deque<PendingMessage>& transfers) noexcept = 0;
  /// The carrier of a group of some of the ranks; all ranks call it, each for its own group. `id` is that of the new
  /// group: the same for all its ranks, and no other group's.
  virtual std::unique_ptr<Carrier> split(uint64_t id, std::span<const int> members) = 0;
};

}  // namespace partita
