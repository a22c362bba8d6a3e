#pragma once
// The messages of one rank to this one: those that came and those that are wanted.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/comm/sockets/completions.h"
#include "runtime/comm/sockets/frame.h"
#include "runtime/comm/sockets/frame_reader.h"

namespace partita {

/// Brings together messages that come and receives that wait, by channel and tag, in the order of either. A message
/// that comes first is kept; a request for leave to send one is granted once a receive wants it. The lock of the
/// connections guards it.
class Inbox {
 public:
  explicit Inbox(Completions& completions) : completions_(completions) {}

  /// Wants a message: finishes `transfer` if it has come, else when it does. Returns the number of a request to grant.
  std::optional<uint64_t> take(PendingMessage& transfer, uint64_t channel);
  /// A request or a message begins: whether its number is above those before, as every sender counts.
  bool begins_in_order(const FrameHead& head) { return std::exchange(last_began_, head.number) < head.number; }
  /// A request has come. Returns its number if it is to be granted now.
  std::optional<uint64_t> add_request(const FrameHead& head);
  /// A frame of a message has come; none where no such message may.
  std::optional<FrameTarget> begin_message(const FrameHead& head);
  /// The bytes of the frame that began last are where they go.
  void end_message();
  /// Takes a receive back that is not done. True if nothing had come for it; else its message is dropped.
  bool withdraw(PendingMessage& transfer, uint64_t channel);
  bool expects_long_message() const { return !granted_.empty(); }

 private:
  /// A message that may come.
  struct Granted {
    PendingMessage* transfer = nullptr;  // null: not wanted any more
    int64_t bytes = 0, came = 0;
  };
  /// A message, or a request, that came before it was wanted.
  struct Arrived {
    FrameHead head;
    std::vector<std::byte> bytes{};  // none of a request
    bool complete = false;
    PendingMessage* taker = nullptr;  // wants it while it still comes
  };
  struct Queue {
    std::deque<PendingMessage*> takers;
    std::deque<std::unique_ptr<Arrived>> arrived;
  };

  std::optional<FrameTarget> begin_granted(const FrameHead& head, Granted& message);
  FrameTarget begin_whole(const FrameHead& head);
  std::optional<uint64_t> grant(const FrameHead& request, PendingMessage& transfer);
  void deliver(const Arrived& arrived, PendingMessage& transfer);

  Completions& completions_;
  std::map<uint64_t, Granted> granted_;
  std::map<std::pair<uint64_t, int32_t>, Queue> queues_;
  uint64_t last_began_ = 0;  // the number of the message that the peer began last
  // Of the frame that comes.
  PendingMessage* transfer_ = nullptr;  // done at its end
  Arrived* arrived_ = nullptr;          // complete at its end
};

}  // namespace partita
