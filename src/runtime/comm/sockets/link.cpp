#include "runtime/comm/sockets/link.h"

#include <linux/sockios.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>

#include <utility>

#include "base/error.h"
#include "base/failure_code.h"

namespace partita {
namespace {

constexpr size_t kBufferBytes = size_t{64} << 10;

}  // namespace

Link::Link(int peer, std::string host, Socket socket, const LinkContext& context)
    : peer_(peer),
      host_(std::move(host)),
      context_(context),
      socket_(std::move(socket)),
      outbox_(context.completions),
      inbox_(context.completions),
      reader_(*this, socket_.is_open() ? kBufferBytes : 0) {
  if (socket_.is_open()) watch(EPOLL_CTL_ADD, EPOLLIN);
}

void Link::watch(int change, uint32_t events) {
  epoll_event event{.events = events, .data = {.u64 = static_cast<uint64_t>(peer_)}};
  ::epoll_ctl(context_.poll, change, socket_.file(), &event);
}

void Link::start(PendingMessage& transfer, uint64_t channel) {
  if (transfer.way == PendingMessage::Way::receive) return grant(inbox_.take(transfer, channel));
  Outbox::Frame frame = outbox_.frame_of(transfer, channel);
  frame.data = transfer.data;
  frame.transfer = &transfer;
  enqueue(outbox_.offer(std::move(frame)));
}

void Link::post(const PendingMessage& message, std::vector<std::byte> bytes, uint64_t channel) {
  Outbox::Frame frame = outbox_.frame_of(message, channel);
  frame.own = std::move(bytes);
  enqueue(outbox_.offer(std::move(frame)));
}

bool Link::withdraw(PendingMessage& transfer, uint64_t channel) {
  if (transfer.way == PendingMessage::Way::send) {
    outbox_.withdraw(transfer);
    return false;
  }
  if (inbox_.withdraw(transfer, channel)) return true;
  reader_.withdraw(transfer);
  return false;
}

void Link::send_failure(const WorldFailure& failure) {
  const std::string text =
      failure.text.empty() ? "[communicator] a rank failed" : failure.text.substr(0, kMaxReasonBytes);
  // Drops frames that nobody will receive any more. A frame that has begun has to be completed.
  outbox_.drop_unstarted();
  Outbox::Frame frame{.head = {.kind = FrameHead::Kind::abort,
                               .tag = static_cast<int32_t>(failure.code),
                               .channel = failure.is_whole ? 0u : 1u,
                               .number = static_cast<uint64_t>(failure.lost + 1)},
                      .bytes = static_cast<int64_t>(text.size())};
  frame.own.assign(reinterpret_cast<const std::byte*>(text.data()),
                   reinterpret_cast<const std::byte*>(text.data()) + text.size());
  enqueue(std::move(frame));
}

bool Link::is_sent(bool acknowledged) const {
  if (!socket_.is_open()) return true;
  int unacknowledged = 0;
  if (acknowledged) ::ioctl(socket_.file(), SIOCOUTQ, &unacknowledged);
  return outbox_.is_sent() && unacknowledged == 0;
}

void Link::handle(uint32_t events) {
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0 && socket_.is_open()) read();
  if ((events & EPOLLOUT) != 0 && socket_.is_open()) write();
}

void Link::tick(Deadline now, Timeout stall, Timeout interval) {
  if (!socket_.is_open() || has_left_) return;
  if (now - heard_ > stall) {
    const double seconds = std::chrono::duration<double>(now - heard_).count();
    lose(ExitCode::peer_stalled, fmt::format("rank {} on {} has been silent for {:.1f} s", peer_, host_, seconds));
  } else if (outbox_.frames_in_line() == 0 && now - outbox_.last_sent() >= interval) {
    enqueue({.head = {.kind = FrameHead::Kind::alive}});
  }
}

void Link::lose(ExitCode code, const std::string& what) {
  if (socket_.is_open()) ::epoll_ctl(context_.poll, EPOLL_CTL_DEL, socket_.file(), nullptr);
  socket_.close();
  outbox_.clear();
  if (!has_left_) context_.world.lose(peer_, code, what);
}

void Link::read() {
  switch (reader_.read_from(socket_)) {
    case FrameReader::Result::nothing: break;
    case FrameReader::Result::some: heard_ = std::chrono::steady_clock::now(); break;
    case FrameReader::Result::ended:
      lose(ExitCode::peer_lost, fmt::format("the process of rank {} on {} ended", peer_, host_));
      break;
    case FrameReader::Result::unsound:
      lose(ExitCode::ranks_disagree,
           fmt::format("rank {} on {} sent a message that is unknown to this version", peer_, host_));
      break;
  }
}

void Link::enqueue(Outbox::Frame frame) {
  if (!socket_.is_open()) return;
  outbox_.push(std::move(frame));
  if (outbox_.frames_in_line() == 1) write();
}

void Link::write() {
  const Outbox::Written written = outbox_.write_to(socket_);
  if (written == Outbox::Written::broken) return;  // the next read reports why
  const bool arm = written == Outbox::Written::blocked;
  if (arm == is_armed_) return;
  watch(EPOLL_CTL_MOD, static_cast<uint32_t>(arm ? EPOLLIN | EPOLLOUT : EPOLLIN));
  is_armed_ = arm;
}

std::optional<FrameTarget> Link::begin_frame(const FrameHead& head) {
  const auto empty_if = [](bool sound) { return sound ? std::optional(FrameTarget{}) : std::nullopt; };
  switch (head.kind) {
    case FrameHead::Kind::alive: return empty_if(head.bytes == 0);
    case FrameHead::Kind::leave: has_left_ = true; return empty_if(head.bytes == 0);
    case FrameHead::Kind::grant: return empty_if(head.bytes == 0 && send_granted(head.number));
    case FrameHead::Kind::request:
      if (!inbox_.begins_in_order(head)) return std::nullopt;
      grant(inbox_.add_request(head));
      return FrameTarget{};
    case FrameHead::Kind::abort: return begin_reason(head);
    case FrameHead::Kind::message: return inbox_.begin_message(head);
  }
  return std::nullopt;
}

std::optional<FrameTarget> Link::begin_reason(const FrameHead& head) {
  if (head.bytes > static_cast<int64_t>(kMaxReasonBytes) || head.bytes == 0) return std::nullopt;
  reason_.assign(static_cast<size_t>(head.bytes), '\0');
  return FrameTarget{.data = reinterpret_cast<std::byte*>(reason_.data()), .bytes = head.bytes};
}

void Link::end_frame(const FrameHead& head) {
  if (head.kind == FrameHead::Kind::abort) {
    learn_failure(head);
  } else {
    inbox_.end_message();
  }
}

void Link::learn_failure(const FrameHead& head) {
  const ExitCode code = failure_of(head.tag);
  const bool is_rank = head.number >= 1 && head.number <= static_cast<uint64_t>(context_.world.size());
  const int lost = is_rank ? static_cast<int>(head.number) - 1 : -1;
  if (head.channel == 0) {
    context_.world.abort(reason_, code, lost);
  } else {
    context_.world.lose(lost, code, reason_);
  }
}

bool Link::send_granted(uint64_t number) {
  if (std::optional<Outbox::Frame> frame = outbox_.granted(number)) {
    enqueue(std::move(*frame));
    return true;
  }
  return outbox_.has_begun(number);  // else it was withdrawn
}

void Link::grant(std::optional<uint64_t> request) {
  if (request) enqueue({.head = {.kind = FrameHead::Kind::grant, .number = *request}});
}

}  // namespace partita
