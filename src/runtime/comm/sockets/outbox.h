#pragma once
// What one rank is sent: frames in line, and messages that wait for leave.

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

/// The line of frames to one rank. The lock of the connections guards it.
class Outbox {
 public:
  struct Frame {
    FrameHead head;
    const std::byte* data = nullptr;
    int64_t bytes = 0;                   // of the message; 0: a head alone
    int64_t first = 0;                   // of them in this frame
    PendingMessage* transfer = nullptr;  // done when this is sent
    std::vector<std::byte> own{};        // the bytes, of a message that was posted
    int64_t sent = 0;                    // of this frame, with the head
    bool is_granted = false;             // the bytes of a request that was granted

    int64_t in_frame() const { return std::min(bytes - first, kMaxInFrame); }
  };
  enum class Written { all, blocked, broken };

  explicit Outbox(Completions& completions) : completions_(completions) {}

  /// The frame of a message that this rank begins, with the next number; without its bytes.
  Frame frame_of(const PendingMessage& message, uint64_t channel);
  /// Returns what is to be put in line first: `frame`, or a request for leave to send it, and keeps `frame` until then.
  Frame offer(Frame frame);
  /// Puts a frame in line, after what has begun. Frames of granted messages, which the receiver knows by number, let
  /// all others pass; those of a message that has begun go before those of others.
  void push(Frame frame);
  /// Whether a request with this number was ever sent.
  bool has_begun(uint64_t number) const { return number <= messages_; }
  /// The message that asked for leave with this number; none if it was withdrawn.
  std::optional<Frame> granted(uint64_t number);
  /// Writes what the socket takes, at most kMaxInTurn bytes. Finishes the messages that are gone.
  Written write_to(const Socket& socket);
  /// A message that is not sent yet: its buffer may go, the bytes of a frame in line are copied.
  void withdraw(const PendingMessage& transfer);
  /// Drops what has not begun to go: frames in line, and messages that wait for leave.
  void drop_unstarted();
  void clear() { line_.clear(); }

  /// When bytes were last written; at first, when this began.
  Deadline last_sent() const { return last_sent_; }
  size_t frames_in_line() const { return line_.size(); }
  bool is_sent() const { return line_.empty() && requested_.empty(); }

 private:
  Completions& completions_;
  std::deque<Frame> line_;
  std::map<uint64_t, Frame> requested_;  // not granted yet
  uint64_t messages_ = 0;                // numbers given out
  Deadline last_sent_ = std::chrono::steady_clock::now();
};

}  // namespace partita
