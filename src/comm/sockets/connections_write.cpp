#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

#include "comm/sockets/connections.h"

// What ranks are sent: frames in line for each.

namespace partita {

Connections::Outgoing Connections::outgoing(Link& link, const PendingMessage& message, uint64_t channel) {
  return {.head = {.tag = message.tag,
                   .channel = channel,
                   .number = ++link.messages,
                   .bytes = message.bytes,
                   .call = static_cast<uint8_t>(message.label.kind),
                   .dtype = static_cast<uint8_t>(message.label.dtype),
                   .reduce = static_cast<uint8_t>(message.label.reduce),
                   .root = message.label.root},
          .bytes = message.bytes};
}

/// Sends a message, or asks for leave to.
void Connections::offer(int peer, Outgoing frame) {
  if (frame.bytes <= kMostAtOnce) {
    frame.head.kind = FrameHead::Kind::message;
    return enqueue(peer, std::move(frame));
  }
  frame.head.kind = FrameHead::Kind::request;
  const FrameHead request = frame.head;
  links_[peer].requested.emplace(request.number, std::move(frame));
  enqueue(peer, {.head = request});
}

void Connections::enqueue(int peer, Outgoing frame) {
  Link& link = links_[peer];
  if (!link.socket.is_open()) return;
  put_in_line(link, std::move(frame));
  if (link.out.size() == 1) write_some(peer);
}

/// Behind what has begun. Frames of granted messages, which the receiver knows by number, let all others pass; those of
/// a message that has begun go before those of others.
void Connections::put_in_line(Link& link, Outgoing frame) {
  frame.sent = 0;
  if (frame.head.kind != FrameHead::Kind::request) frame.head.bytes = frame.in_frame();
  auto place = link.out.end();
  if (frame.first > 0 && place != link.out.begin() && std::prev(place)->head.kind == FrameHead::Kind::leave) --place;
  if (frame.head.kind != FrameHead::Kind::leave && (!frame.is_granted || frame.first > 0)) {
    while (place != link.out.begin() && std::prev(place)->is_granted && std::prev(place)->sent == 0) --place;
  }
  link.out.insert(place, std::move(frame));
}

void Connections::write_some(int peer) {
  Link& link = links_[peer];
  int64_t written = 0;
  while (!link.out.empty()) {
    Outgoing& frame = link.out.front();
    constexpr auto kHead = static_cast<int64_t>(sizeof(FrameHead));
    const auto* head = reinterpret_cast<const std::byte*>(&frame.head);
    const std::byte* data = (frame.own.empty() ? frame.data : frame.own.data()) + frame.first;
    const int64_t bytes = frame.in_frame();
    const int64_t in_head = std::max<int64_t>(0, kHead - frame.sent),
                  in_data = std::max<int64_t>(0, frame.sent - kHead);
    iovec parts[2] = {{const_cast<std::byte*>(head + kHead - in_head), static_cast<size_t>(in_head)},
                      {const_cast<std::byte*>(data + in_data), static_cast<size_t>(bytes - in_data)}};
    msghdr message{};
    message.msg_iov = in_head > 0 ? parts : parts + 1;
    message.msg_iovlen = in_head > 0 ? (bytes > 0 ? 2 : 1) : 1;
    const ssize_t sent = ::sendmsg(link.socket.file(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
      if (errno == EINTR) continue;
      if (errno != EAGAIN) return;  // reading says why
      break;
    }
    frame.sent += sent;
    written += sent;
    link.said = std::chrono::steady_clock::now();
    if (frame.sent < kHead + bytes) continue;
    Outgoing done = std::move(frame);
    link.out.pop_front();
    done.first += bytes;
    if (done.first < done.bytes) {
      put_in_line(link, std::move(done));
    } else if (done.transfer != nullptr) {
      finish(*done.transfer);
    }
    if (written >= kMostAtATime) break;
  }
  const bool arm = !link.out.empty();
  if (arm == link.is_armed) return;
  epoll_event event{.events = static_cast<uint32_t>(arm ? EPOLLIN | EPOLLOUT : EPOLLIN),
                    .data = {.u64 = static_cast<uint64_t>(peer)}};
  ::epoll_ctl(poll_, EPOLL_CTL_MOD, link.socket.file(), &event);
  link.is_armed = arm;
}

}  // namespace partita
