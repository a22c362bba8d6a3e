#include "runtime/comm/sockets/frame_reader.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace partita {
namespace {

// Remaining bytes of a frame from which they are read directly to their destination.
constexpr int64_t kMinDirect = int64_t{4} << 10;

}  // namespace

FrameReader::Result FrameReader::read_from(const Socket& socket) {
  for (int64_t done = 0; done < kMaxInTurn;) {
    ssize_t received = 0;
    const bool direct = begin_ == end_ && target_.bytes >= kMinDirect && target_.data != nullptr;
    if (direct) {
      received =
          ::recv(socket.file(), target_.data, static_cast<size_t>(std::min(target_.bytes, kMaxInTurn)), MSG_DONTWAIT);
    } else {
      std::copy(buffer_.begin() + static_cast<std::ptrdiff_t>(begin_),
                buffer_.begin() + static_cast<std::ptrdiff_t>(end_), buffer_.begin());
      end_ -= std::exchange(begin_, 0);
      // If long messages are expected, reads little beyond a head: the rest belongs elsewhere.
      size_t room = buffer_.size() - end_;
      if (sink_.expects_long_message()) room = std::min<size_t>(room, kMinDirect);
      received = ::recv(socket.file(), buffer_.data() + end_, room, MSG_DONTWAIT);
    }
    if (received < 0 && errno == EINTR) continue;
    if (received < 0 && errno == EAGAIN) return done > 0 ? Result::some : Result::nothing;
    if (received <= 0) return Result::ended;
    done += received;
    if (direct) {
      target_.data += received;
      target_.bytes -= received;
      if (target_.bytes == 0) sink_.end_frame(head_);
    } else {
      end_ += static_cast<size_t>(received);
      if (!parse()) return Result::unsound;
    }
  }
  return Result::some;
}

/// Consumes what is in the buffer. Returns false if the peer sent an invalid frame.
bool FrameReader::parse() {
  while (true) {
    const auto here = static_cast<int64_t>(end_ - begin_);
    if (target_.bytes > 0) {
      if (here == 0) return true;
      const int64_t bytes = std::min(target_.bytes, here);
      if (target_.data != nullptr) {
        std::memcpy(target_.data, buffer_.data() + begin_, static_cast<size_t>(bytes));
        target_.data += bytes;
      }
      begin_ += static_cast<size_t>(bytes);
      target_.bytes -= bytes;
      if (target_.bytes == 0) sink_.end_frame(head_);
      continue;
    }
    if (here < static_cast<int64_t>(sizeof(FrameHead))) return true;
    std::memcpy(&head_, buffer_.data() + begin_, sizeof(FrameHead));
    begin_ += sizeof(FrameHead);
    if (!is_sound(head_)) return false;
    const std::optional<FrameTarget> target = sink_.begin_frame(head_);
    if (!target) return false;
    target_ = *target;
  }
}

void FrameReader::withdraw(const PendingMessage& message) {
  if (target_.into != &message) return;
  target_.into = nullptr;
  target_.data = nullptr;
}

}  // namespace partita
