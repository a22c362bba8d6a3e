#pragma once
// Reads the frames that one rank sends.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/comm/sockets/frame.h"
#include "runtime/comm/sockets/socket.h"

namespace partita {

/// Destination of the bytes after the head of a frame.
struct FrameTarget {
  std::byte* data = nullptr;             // null: the bytes are dropped
  int64_t bytes = 0;                     // number of bytes after the head
  const PendingMessage* into = nullptr;  // the message to whose memory `data` points, or null
};

/// Assembles the bytes of a socket into frames. The lock of the connections guards it.
class FrameReader {
 public:
  /// Receives frames.
  class Sink {
   public:
    virtual ~Sink() = default;
    /// Called with a head that passed `is_sound`. Returns the destination of the bytes after it. Returns none if no
    /// rank may send this frame here; `read_from` then returns `unsound`.
    virtual std::optional<FrameTarget> begin_frame(const FrameHead& head) = 0;
    /// Called when all bytes of a frame that has some have been stored.
    virtual void end_frame(const FrameHead& head) = 0;
    /// Whether bytes may arrive that belong into the memory of a message.
    virtual bool expects_long_message() const = 0;
  };
  /// nothing: no byte was there. some: bytes were read. ended: the connection ended. unsound: a received frame is
  /// invalid.
  enum class Result { nothing, some, ended, unsound };
  FrameReader(Sink& sink, size_t buffer_bytes) : sink_(sink), buffer_(buffer_bytes) {}

  /// Reads what is available, without waiting and at most about kMaxInTurn bytes, and passes its frames to the sink. An
  /// error of the socket counts as the end of the connection.
  Result read_from(const Socket& socket);
  /// Stops writing to the memory of `message`; the rest of its bytes is dropped.
  void withdraw(const PendingMessage& message);

 private:
  bool parse();

  Sink& sink_;
  std::vector<std::byte> buffer_;
  size_t begin_ = 0, end_ = 0;  // bounds of the bytes in buffer_ that are not consumed
  FrameHead head_;              // head of the current frame
  FrameTarget target_;          // for the rest of the current frame
};

}  // namespace partita
