#pragma once
// Reads the frames that one rank sends.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/comm/sockets/frame.h"
#include "runtime/comm/sockets/socket.h"

namespace partita {

/// Where the bytes after the head of a frame go.
struct FrameTarget {
  std::byte* data = nullptr;             // null: they are dropped
  int64_t bytes = 0;                     // that follow the head
  const PendingMessage* into = nullptr;  // whose memory `data` is, if it is that of a message
};

/// Puts bytes of a socket together to frames. The lock of the connections guards it.
class FrameReader {
 public:
  /// What becomes of frames.
  class Sink {
   public:
    virtual ~Sink() = default;
    /// A sound head has come. None: no rank sends this here.
    virtual std::optional<FrameTarget> begin_frame(const FrameHead& head) = 0;
    /// All bytes of a frame that has some are where they go.
    virtual void end_frame(const FrameHead& head) = 0;
    /// Whether bytes may come that belong into the memory of a message.
    virtual bool expects_long_message() const = 0;
  };
  enum class Result { nothing, some, ended, unsound };  // ended: the connection; unsound: what came is no frame

  /// `sink` outlives the reader; `buffer_bytes` may be 0 where nothing is read.
  FrameReader(Sink& sink, size_t buffer_bytes) : sink_(sink), buffer_(buffer_bytes) {}

  /// Reads what is there, at most about kMaxInTurn bytes.
  Result read_from(const Socket& socket);
  /// The memory of `message` may go: what still comes for it is dropped.
  void withdraw(const PendingMessage& message);

 private:
  bool parse();

  Sink& sink_;
  std::vector<std::byte> buffer_;
  size_t begin_ = 0, end_ = 0;  // of what was read and not taken
  FrameHead head_;              // of the frame that comes
  FrameTarget target_;          // of what is left of it
};

}  // namespace partita
