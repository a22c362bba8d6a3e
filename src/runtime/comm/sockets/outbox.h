#pragma once
// Messages to one rank: queued frames, and messages whose requests are not granted yet.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "runtime/comm/sockets/completions.h"
#include "runtime/comm/sockets/frame.h"
#include "runtime/comm/sockets/socket.h"

namespace partita {

/// The queue of frames to one rank. The lock of the connections guards it.
class Outbox {
 public:
  struct Frame {
    FrameHead head;
    const std::byte* data = nullptr;
    int64_t bytes = 0;                   // bytes of the message; 0: only a head
    int64_t first = 0;                   // first byte of the message in this frame
    PendingMessage* transfer = nullptr;  // done when this frame is sent
    std::vector<std::byte> own{};        // the bytes of a posted message
    int64_t sent = 0;                    // bytes of this frame that were sent, head included
    bool is_granted = false;             // whether it has the bytes of a granted request

    int64_t in_frame() const { return std::min(bytes - first, kMaxInFrame); }
  };
  enum class Written { all, blocked, broken };

  explicit Outbox(Completions& completions) : completions_(completions) {}

  /// Makes the frame of a message to that rank and gives it the number after the last one. The caller sets the kind of
  /// the frame and adds the message's data.
  Frame frame_of(const PendingMessage& message, uint64_t channel);
  /// Returns the frame to queue first: `frame` itself, or, for a message of more than kMaxAtOnce bytes, a request to
  /// send it; then keeps `frame` until the grant.
  Frame offer(Frame frame);
  /// Queues a frame, after those that have begun. Other frames overtake frames of granted messages, which the receiver
  /// identifies by number. Frames of a message that has begun go before those of others.
  void push(Frame frame);
  /// Whether a message or request with this number was ever begun.
  bool has_begun(uint64_t number) const { return number <= messages_; }
  /// Removes the kept message whose request has this number and returns its frame, to be queued; none if there is none,
  /// as after its withdrawal.
  std::optional<Frame> granted(uint64_t number);
  /// Writes what the socket accepts, about kMaxInTurn bytes at most. Finishes the messages that are completely sent.
  /// Returns `all` if the queue is empty, `blocked` if frames are left, `broken` if the connection has failed.
  Written write_to(const Socket& socket);
  /// Withdraws a message: drops it if it waits for a grant. Frames of it that are queued already are sent nevertheless,
  /// from a copy of their bytes. The memory of the message is free afterwards.
  void withdraw(const PendingMessage& transfer);
  /// Drops what has not begun to be sent: queued frames except the first, and messages that wait for a grant.
  void drop_unstarted();
  void clear() { line_.clear(); }

  /// When bytes were last written; initially the time of construction.
  Deadline last_sent() const { return last_sent_; }
  size_t frames_in_line() const { return line_.size(); }
  bool is_sent() const { return line_.empty() && requested_.empty(); }

 private:
  Completions& completions_;
  std::deque<Frame> line_;
  std::map<uint64_t, Frame> requested_;  // by number, not granted yet
  uint64_t messages_ = 0;                // last number given to a message
  Deadline last_sent_ = std::chrono::steady_clock::now();
};

}  // namespace partita
