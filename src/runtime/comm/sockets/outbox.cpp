#include "runtime/comm/sockets/outbox.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>
#include <iterator>
#include <utility>

namespace partita {
namespace {

/// Sends what the socket accepts of the rest of a frame. Returns what sendmsg returns.
ssize_t send_rest(const Socket& socket, const Outbox::Frame& frame) {
  constexpr auto kHead = static_cast<int64_t>(sizeof(FrameHead));
  const auto* head = reinterpret_cast<const std::byte*>(&frame.head);
  const std::byte* data = (frame.own.empty() ? frame.data : frame.own.data()) + frame.first;
  const int64_t bytes = frame.in_frame();
  const int64_t in_head = std::max<int64_t>(0, kHead - frame.sent), in_data = std::max<int64_t>(0, frame.sent - kHead);
  iovec parts[2] = {{const_cast<std::byte*>(head + kHead - in_head), static_cast<size_t>(in_head)},
                    {const_cast<std::byte*>(data + in_data), static_cast<size_t>(bytes - in_data)}};
  msghdr message{};
  message.msg_iov = in_head > 0 ? parts : parts + 1;
  message.msg_iovlen = in_head > 0 ? (bytes > 0 ? 2 : 1) : 1;
  return ::sendmsg(socket.file(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace

Outbox::Frame Outbox::frame_of(const PendingMessage& message, uint64_t channel) {
  return {.head = head_of(message, channel, ++messages_), .bytes = message.bytes};
}

Outbox::Frame Outbox::offer(Frame frame) {
  if (frame.bytes <= kMaxAtOnce) {
    frame.head.kind = FrameHead::Kind::message;
    return frame;
  }
  frame.head.kind = FrameHead::Kind::request;
  const FrameHead request = frame.head;
  requested_.emplace(request.number, std::move(frame));
  return {.head = request};
}

void Outbox::push(Frame frame) {
  frame.sent = 0;
  if (frame.head.kind != FrameHead::Kind::request) frame.head.bytes = frame.in_frame();
  auto place = line_.end();
  if (frame.first > 0 && place != line_.begin() && std::prev(place)->head.kind == FrameHead::Kind::leave) --place;
  if (frame.head.kind != FrameHead::Kind::leave && (!frame.is_granted || frame.first > 0)) {
    while (place != line_.begin() && std::prev(place)->is_granted && std::prev(place)->sent == 0) --place;
  }
  line_.insert(place, std::move(frame));
}

std::optional<Outbox::Frame> Outbox::granted(uint64_t number) {
  auto requested = requested_.extract(number);
  if (!requested) return std::nullopt;
  Frame frame = std::move(requested.mapped());
  frame.head.kind = FrameHead::Kind::message;
  frame.is_granted = true;
  return frame;
}

Outbox::Written Outbox::write_to(const Socket& socket) {
  int64_t written = 0;
  while (!line_.empty()) {
    Frame& frame = line_.front();
    const ssize_t sent = send_rest(socket, frame);
    if (sent < 0) {
      if (errno == EINTR) continue;
      return errno == EAGAIN ? Written::blocked : Written::broken;
    }
    frame.sent += sent;
    written += sent;
    last_sent_ = std::chrono::steady_clock::now();
    if (frame.sent < static_cast<int64_t>(sizeof(FrameHead)) + frame.in_frame()) continue;
    Frame done = std::move(frame);
    line_.pop_front();
    done.first += done.in_frame();
    if (done.first < done.bytes) {
      push(std::move(done));
    } else if (done.transfer != nullptr) {
      completions_.finish(*done.transfer);
    }
    if (written >= kMaxInTurn) break;
  }
  return line_.empty() ? Written::all : Written::blocked;
}

void Outbox::withdraw(const PendingMessage& transfer) {
  std::erase_if(requested_, [&](const auto& one) { return one.second.transfer == &transfer; });
  for (Frame& frame : line_) {
    if (frame.transfer != &transfer) continue;
    frame.own.assign(frame.data, frame.data + frame.bytes);  // the buffer is free now
    frame.transfer = nullptr;
  }
}

void Outbox::drop_unstarted() {
  while (line_.size() > 1) line_.pop_back();
  requested_.clear();
}

}  // namespace partita
