#pragma once
// The messages of one rank to this one: those that arrived and those that are wanted.

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

/// Matches arriving messages with waiting receives by channel and tag, in order. A message that arrives early is kept.
/// A request to send one is granted once a receive wants it. The lock of the connections guards it.
class Inbox {
 public:
  explicit Inbox(Completions& completions) : completions_(completions) {}

  /// Starts a receive: finishes `transfer` if its message has arrived or does not fit, else when it arrives. Returns
  /// the number of a request to grant now; none if there is none.
  std::optional<uint64_t> take(PendingMessage& transfer, uint64_t channel);
  /// Whether the number of a beginning request or message is above the previous one, as every sender counts. Remembers
  /// it.
  bool begins_in_order(const FrameHead& head) { return std::exchange(last_began_, head.number) < head.number; }
  /// Adds a request. Returns its number if it is to be granted now; none if no receive wants it yet, or the one that
  /// does is finished since the message does not fit.
  std::optional<uint64_t> add_request(const FrameHead& head);
  /// Begins a frame of a message. Returns the destination of its bytes, which drops them if the receive was withdrawn
  /// or the message does not fit it. None if such a message is not allowed: it is empty, exceeds its request, or is
  /// long or out of order without one.
  std::optional<FrameTarget> begin_message(const FrameHead& head);
  /// Ends the frame that began last, whose bytes have been stored. Finishes the receive that wants its message if that
  /// is complete.
  void end_message();
  /// Withdraws a receive that is not done. Returns true if nothing had arrived for it. Else its message is dropped, or
  /// kept for a later receive if it arrives to memory of the inbox.
  bool withdraw(PendingMessage& transfer, uint64_t channel);
  /// Whether bytes of a granted message may arrive.
  bool expects_long_message() const { return !granted_.empty(); }

 private:
  /// A message whose request was granted.
  struct Granted {
    PendingMessage* transfer = nullptr;  // null: withdrawn
    int64_t bytes = 0, received = 0;
  };
  /// A message or request that arrived before it was wanted.
  struct Arrived {
    FrameHead head;
    std::vector<std::byte> bytes{};  // empty for a request
    bool complete = false;
    PendingMessage* taker = nullptr;  // the receive that wants it while it is still arriving
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
  uint64_t last_began_ = 0;  // number of the peer's last message
  // State of the current frame.
  PendingMessage* transfer_ = nullptr;  // done at the frame's end
  Arrived* arrived_ = nullptr;          // complete at the frame's end
};

}  // namespace partita
