#include "comm/sockets/connections.h"

#include <linux/sockios.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

#include "base/error.h"
#include "base/failure_code.h"
#include "base/resources.h"

namespace partita {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kAliveInterval{250};
constexpr milliseconds kPollTime{1};  // from one event to the next while a rank waits for messages
constexpr milliseconds kAbortTime{300}, kLeaveTime{10'000};
constexpr size_t kBufferBytes = size_t{64} << 10;
constexpr int64_t kLeastDirect = int64_t{4} << 10;  // of a message, to be read where it is wanted
constexpr int64_t kMostAtATime = int64_t{2} << 20;  // from or to one rank before others have their turn
constexpr size_t kMostReason = 4096;
constexpr uint64_t kWakeEvent = ~uint64_t{0};

MessageLabel label_of(const FrameHead& head) {
  return {.kind = static_cast<Collective>(head.call),
          .dtype = static_cast<DType>(head.dtype),
          .reduce = static_cast<Reduce>(head.reduce),
          .root = head.root};
}

/// Whether the bytes of a message may be written where they are wanted.
bool fits(const PendingMessage& transfer, const FrameHead& head) {
  return head.bytes <= transfer.bytes && label_of(head) == transfer.label;
}

bool is_sound(const FrameHead& head) {
  if (head.kind > FrameHead::Kind::leave || head.bytes < 0 || head.bytes > Carrier::kMostBytes) return false;
  return head.call < kNames<Collective>.size() && head.dtype < std::size(kAllDTypes) &&
         head.reduce <= static_cast<uint8_t>(Reduce::min);
}

/// Of the ranks of this host, each with the thread that moves its messages.
int threads_here(const ConnectionOptions& options) {
  const std::string& here = options.hosts.at(static_cast<size_t>(options.rank));
  return 2 * static_cast<int>(std::count(options.hosts.begin(), options.hosts.end(), here));
}

}  // namespace

/// A failure of the world wakes those who wait for messages.
class Connections::Waker final : public Wakeable {
 public:
  explicit Waker(EventCount& event) : event_(&event) {}
  void wake() noexcept override {
    const std::lock_guard lock(mutex_);
    if (event_ != nullptr) event_->notify();
  }
  void forget() {
    const std::lock_guard lock(mutex_);
    event_ = nullptr;
  }

 private:
  std::mutex mutex_;
  EventCount* event_;
};

Connections::Connections(std::vector<Socket> links, ConnectionOptions options, std::shared_ptr<WorldState> world)
    : options_(std::move(options)),
      world_(std::move(world)),
      links_(links.size()),
      policy_(wait_policy(threads_here(options_))),
      poll_(::epoll_create1(EPOLL_CLOEXEC)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      waker_(std::make_shared<Waker>(changed_)) {
  if (poll_ < 0 || wake_ < 0) throw_cannot_start("the connections of a rank", std::strerror(errno));
  const Deadline now = std::chrono::steady_clock::now();
  epoll_event event{.events = EPOLLIN, .data = {.u64 = kWakeEvent}};
  ::epoll_ctl(poll_, EPOLL_CTL_ADD, wake_, &event);
  for (size_t peer = 0; peer < links.size(); ++peer) {
    Link& link = links_[peer];
    link.socket = std::move(links[peer]);
    link.heard = link.said = now;
    if (!link.socket.is_open()) continue;
    link.buffer.resize(kBufferBytes);
    event = {.events = EPOLLIN, .data = {.u64 = peer}};
    ::epoll_ctl(poll_, EPOLL_CTL_ADD, link.socket.file(), &event);
  }
  world_->enlist(waker_);
  thread_ = start_thread("a thread that moves messages", [this] { loop(); });
}

bool Connections::is_done(const PendingMessage& message) {
  return std::atomic_ref<bool>(const_cast<bool&>(message.done)).load(std::memory_order_acquire);
}

Connections::~Connections() {
  waker_->forget();
  if (world_->is_aborted()) broadcast_failure();
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_, &one, sizeof one);
  if (thread_.joinable()) thread_.join();
  ::close(poll_);
  ::close(wake_);
}

void Connections::loop() {
  std::array<epoll_event, 64> events;
  Deadline next = std::chrono::steady_clock::now() + kAliveInterval, polls_until{};
  while (true) {
    const Deadline begin = std::chrono::steady_clock::now();
    // A thread that sleeps needs longer to wake than a message of some KiB takes.
    const bool polls = policy_.spins > 0 && begin < std::min(polls_until, next) && waiting_.load() > 0;
    const auto rest = polls ? 0 : std::chrono::ceil<milliseconds>(next - begin).count();
    const int count = ::epoll_wait(poll_, events.data(), static_cast<int>(events.size()),
                                   static_cast<int>(std::clamp<int64_t>(rest, 0, 1000)));
    if (polls && count == 0) {
      std::this_thread::yield();
      continue;
    }
    polls_until = begin + kPollTime;
    {
      const std::lock_guard lock(mutex_);
      if (stop_) return;
      for (int i = 0; i < count; ++i) {
        if (events[i].data.u64 != kWakeEvent) handle(static_cast<int>(events[i].data.u64), events[i].events);
      }
      const Deadline now = std::chrono::steady_clock::now();
      if (now >= next) {
        // A process that was stopped itself has heard nobody in the meantime.
        if (now - next > 4 * kAliveInterval) {
          for (Link& link : links_) link.heard = now;
        }
        tick();
        next = now + kAliveInterval;
      }
      if (world_->is_aborted()) tell_failure();
    }
  }
}

void Connections::tick() {
  const Deadline now = std::chrono::steady_clock::now();
  for (int peer = 0; peer < size(); ++peer) {
    Link& link = links_[peer];
    if (!link.socket.is_open() || link.has_left) continue;
    if (now - link.heard > options_.stall) {
      const double seconds = std::chrono::duration<double>(now - link.heard).count();
      lose(peer, ExitCode::peer_stalled,
           fmt::format("rank {} on {} has been silent for {:.1f} s", peer, options_.hosts[peer], seconds));
    } else if (link.out.empty() && now - link.said >= kAliveInterval / 2) {
      enqueue(peer, {.head = {.kind = FrameHead::Kind::alive}});
    }
  }
}

void Connections::handle(int peer, uint32_t events) {
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) read_some(peer);
  if ((events & EPOLLOUT) != 0 && links_[peer].socket.is_open()) write_some(peer);
}

void Connections::lose(int peer, ExitCode code, const std::string& what) {
  Link& link = links_[peer];
  if (link.socket.is_open()) ::epoll_ctl(poll_, EPOLL_CTL_DEL, link.socket.file(), nullptr);
  link.socket.close();
  link.out.clear();
  if (!link.has_left) world_->lose(peer, code, what);
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

void Connections::read_some(int peer) {
  Link& link = links_[peer];
  for (int64_t done = 0; done < kMostAtATime && link.socket.is_open();) {
    ssize_t came = 0;
    const bool direct = link.begin == link.end && link.rest >= kLeastDirect && link.target != nullptr;
    if (direct) {
      came =
          ::recv(link.socket.file(), link.target, static_cast<size_t>(std::min(link.rest, kMostAtATime)), MSG_DONTWAIT);
    } else {
      std::copy(link.buffer.begin() + static_cast<std::ptrdiff_t>(link.begin),
                link.buffer.begin() + static_cast<std::ptrdiff_t>(link.end), link.buffer.begin());
      link.end -= std::exchange(link.begin, 0);
      // Where long messages come, what is behind a head belongs elsewhere.
      size_t room = link.buffer.size() - link.end;
      if (!link.granted.empty()) room = std::min<size_t>(room, kLeastDirect);
      came = ::recv(link.socket.file(), link.buffer.data() + link.end, room, MSG_DONTWAIT);
    }
    if (came < 0 && errno == EINTR) continue;
    if (came < 0 && errno == EAGAIN) return;
    if (came <= 0) {
      lose(peer, ExitCode::peer_lost, fmt::format("the process of rank {} on {} ended", peer, options_.hosts[peer]));
      return;
    }
    link.heard = std::chrono::steady_clock::now();
    done += came;
    if (direct) {
      link.target += came;
      link.rest -= came;
      if (link.rest == 0) end_frame(link);
    } else {
      link.end += static_cast<size_t>(came);
      if (!parse(link)) {
        lose(peer, ExitCode::ranks_disagree,
             fmt::format("rank {} on {} sent what no rank of this version does", peer, options_.hosts[peer]));
      }
    }
  }
}

bool Connections::parse(Link& link) {
  while (true) {
    const auto here = static_cast<int64_t>(link.end - link.begin);
    if (link.rest > 0) {
      if (here == 0) return true;
      const int64_t bytes = std::min(link.rest, here);
      if (link.target != nullptr) {
        std::memcpy(link.target, link.buffer.data() + link.begin, static_cast<size_t>(bytes));
        link.target += bytes;
      }
      link.begin += static_cast<size_t>(bytes);
      link.rest -= bytes;
      if (link.rest == 0) end_frame(link);
      continue;
    }
    if (here < static_cast<int64_t>(sizeof(FrameHead))) return true;
    std::memcpy(&link.head, link.buffer.data() + link.begin, sizeof(FrameHead));
    link.begin += sizeof(FrameHead);
    if (!is_sound(link.head) || !begin_frame(link)) return false;
  }
}

bool Connections::begin_frame(Link& link) {
  const FrameHead& head = link.head;
  link.target = nullptr;
  link.into = link.transfer = nullptr;
  link.arrived = nullptr;
  switch (head.kind) {
    case FrameHead::Kind::alive: return head.bytes == 0;
    case FrameHead::Kind::leave: link.has_left = true; return head.bytes == 0;
    case FrameHead::Kind::grant: return head.bytes == 0 && send_granted(link);
    case FrameHead::Kind::request: return begins_in_order(link) && take_request(link);
    case FrameHead::Kind::abort:
      if (head.bytes > static_cast<int64_t>(kMostReason) || head.bytes == 0) return false;
      link.reason.assign(static_cast<size_t>(head.bytes), '\0');
      link.target = reinterpret_cast<std::byte*>(link.reason.data());
      break;
    case FrameHead::Kind::message:
      if (head.bytes == 0) return false;
      if (const auto granted = link.granted.find(head.number); granted != link.granted.end()) {
        return begin_granted(link, granted->second);
      } else if (head.bytes <= kMostAtOnce && begins_in_order(link)) {
        begin_message(link);
      } else {
        return false;
      }
      break;
  }
  link.rest = head.bytes;
  return true;
}

void Connections::aim(Link& link, PendingMessage& transfer, int64_t first) {
  link.into = &transfer;
  link.target = transfer.data + first;
}

/// Each message has a number of its own, above those before.
bool Connections::begins_in_order(Link& link) {
  return std::exchange(link.last_began, link.head.number) < link.head.number;
}

bool Connections::begin_granted(Link& link, Granted& message) {
  if (link.head.bytes > message.bytes - message.came) return false;
  if (message.transfer != nullptr) aim(link, *message.transfer, message.came);
  link.rest = link.head.bytes;
  message.came += link.rest;
  if (message.came < message.bytes) return true;
  link.transfer = message.transfer;
  link.granted.erase(link.head.number);
  return true;
}

void Connections::begin_message(Link& link) {
  Queue& queue = link.queues[{link.head.channel, link.head.tag}];
  if (!queue.takers.empty()) {
    link.transfer = queue.takers.front();
    queue.takers.pop_front();
    if (fits(*link.transfer, link.head)) aim(link, *link.transfer, 0);
    fill(*link.transfer, link.head);
    return;
  }
  auto& arrived = queue.arrived.emplace_back(std::make_unique<Arrived>(Arrived{.head = link.head}));
  arrived->bytes.resize(static_cast<size_t>(link.head.bytes));
  link.arrived = arrived.get();
  link.target = arrived->bytes.data();
}

bool Connections::take_request(Link& link) {
  const FrameHead& head = link.head;
  Queue& queue = link.queues[{head.channel, head.tag}];
  if (queue.takers.empty()) {
    queue.arrived.push_back(std::make_unique<Arrived>(Arrived{.head = head, .complete = true}));
    return true;
  }
  PendingMessage* taker = queue.takers.front();
  queue.takers.pop_front();
  grant(link, head, taker);
  return true;
}

void Connections::grant(Link& link, const FrameHead& request, PendingMessage* transfer) {
  if (!fits(*transfer, request)) {
    fill(*transfer, request);
    return finish(*transfer);  // the sender waits for leave that never comes: its call fails with this one
  }
  fill(*transfer, request);
  link.granted[request.number] = {.transfer = transfer, .bytes = request.bytes};
  enqueue(rank_of(link), {.head = {.kind = FrameHead::Kind::grant, .number = request.number}});
}

bool Connections::send_granted(Link& link) {
  const auto requested = link.requested.find(link.head.number);
  if (requested == link.requested.end()) return link.head.number <= link.messages;  // withdrawn meanwhile
  Outgoing frame = std::move(requested->second);
  link.requested.erase(requested);
  frame.head.kind = FrameHead::Kind::message;
  frame.is_granted = true;
  enqueue(rank_of(link), std::move(frame));
  return true;
}

void Connections::fill(PendingMessage& transfer, const FrameHead& head) {
  transfer.came = head.bytes;
  transfer.came_with = label_of(head);
}

void Connections::finish(PendingMessage& transfer) {
  std::atomic_ref<bool>(transfer.done).store(true, std::memory_order_release);
  changed_.notify();
}

void Connections::end_frame(Link& link) {
  if (link.head.kind == FrameHead::Kind::abort) {
    const ExitCode code = failure_of(link.head.tag);
    const bool is_rank = link.head.number >= 1 && link.head.number <= links_.size();
    const int lost = is_rank ? static_cast<int>(link.head.number) - 1 : -1;
    if (link.head.channel == 0) {
      world_->abort(link.reason, code, lost);
    } else {
      world_->lose(lost, code, link.reason);
    }
  } else if (link.transfer != nullptr) {
    finish(*link.transfer);
  } else if (link.arrived != nullptr) {
    Arrived& arrived = *link.arrived;
    arrived.complete = true;
    if (PendingMessage* taker = arrived.taker; taker != nullptr) {
      auto& queue = link.queues[{arrived.head.channel, arrived.head.tag}];
      if (fits(*taker, arrived.head)) std::copy(arrived.bytes.begin(), arrived.bytes.end(), taker->data);
      fill(*taker, arrived.head);
      finish(*taker);
      std::erase_if(queue.arrived, [&](const auto& one) { return one.get() == &arrived; });
    }
  }
  link.transfer = nullptr;
  link.arrived = nullptr;
}

void Connections::take(Link& link, PendingMessage& transfer, Queue& queue) {
  const auto free = std::find_if(queue.arrived.begin(), queue.arrived.end(),
                                 [](const auto& arrived) { return arrived->taker == nullptr; });
  if (free == queue.arrived.end()) {
    queue.takers.push_back(&transfer);
    return;
  }
  Arrived& arrived = **free;
  if (!arrived.complete) {
    arrived.taker = &transfer;
    return;
  }
  if (arrived.head.kind == FrameHead::Kind::request) {
    grant(link, arrived.head, &transfer);
  } else {
    if (fits(transfer, arrived.head)) std::copy(arrived.bytes.begin(), arrived.bytes.end(), transfer.data);
    fill(transfer, arrived.head);
    finish(transfer);
  }
  queue.arrived.erase(free);
}

void Connections::start(PendingMessage& transfer, int peer, uint64_t channel) {
  const std::lock_guard lock(mutex_);
  Link& link = links_[peer];
  if (transfer.way == PendingMessage::Way::receive) return take(link, transfer, link.queues[{channel, transfer.tag}]);
  Outgoing frame = outgoing(link, transfer, channel);
  frame.data = transfer.data;
  frame.transfer = &transfer;
  offer(peer, std::move(frame));
}

void Connections::post(const PendingMessage& message, int peer, uint64_t channel) {
  std::vector<std::byte> own(message.data, message.data + message.bytes);
  const std::lock_guard lock(mutex_);
  Outgoing frame = outgoing(links_[peer], message, channel);
  frame.own = std::move(own);
  offer(peer, std::move(frame));
}

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

bool Connections::all_done(const std::deque<PendingMessage>& transfers, size_t count) {
  return std::all_of(transfers.begin(), transfers.begin() + static_cast<std::ptrdiff_t>(count), is_done);
}

bool Connections::wait(std::deque<PendingMessage>& transfers, size_t count, Deadline until) {
  ++waiting_;
  changed_.wait([&] { return all_done(transfers, count) || world_->is_aborted(); }, until, policy_);
  --waiting_;
  return all_done(transfers, count);
}

bool Connections::withdraw(std::deque<PendingMessage>& transfers, std::span<const int> peers,
                           uint64_t channel) noexcept {
  const std::lock_guard lock(mutex_);
  bool clean = true;
  for (size_t i = 0; i < transfers.size(); ++i) {
    PendingMessage& transfer = transfers[i];
    if (is_done(transfer)) continue;
    Link& link = links_[peers[i]];
    if (transfer.way == PendingMessage::Way::receive) {
      Queue& queue = link.queues[{channel, transfer.tag}];
      if (std::erase(queue.takers, &transfer) > 0) continue;
    }
    clean = false;
    for (const auto& arrived : link.queues[{channel, transfer.tag}].arrived) {
      if (arrived->taker == &transfer) arrived->taker = nullptr;
    }
    for (auto& [number, message] : link.granted) {
      if (message.transfer == &transfer) message.transfer = nullptr;
    }
    if (link.into == &transfer) link.into = nullptr, link.target = nullptr;
    if (link.transfer == &transfer) link.transfer = nullptr;
    std::erase_if(link.requested, [&](const auto& one) { return one.second.transfer == &transfer; });
    for (Outgoing& frame : link.out) {
      if (frame.transfer != &transfer) continue;
      frame.own.assign(frame.data, frame.data + frame.bytes);  // the buffer may go now
      frame.transfer = nullptr;
    }
  }
  return clean;
}

bool Connections::has_left(int peer) {
  const std::lock_guard lock(mutex_);
  return links_[peer].has_left;
}

bool Connections::is_sent(bool acknowledged) {
  const std::lock_guard lock(mutex_);
  return std::all_of(links_.begin(), links_.end(), [&](const Link& link) {
    int unacknowledged = 0;
    if (!link.socket.is_open()) return true;
    if (acknowledged) ::ioctl(link.socket.file(), SIOCOUTQ, &unacknowledged);
    return link.out.empty() && link.requested.empty() && unacknowledged == 0;
  });
}

void Connections::await_sent(milliseconds most, bool acknowledged) {
  const Deadline until = deadline_after(most);
  while (!is_sent(acknowledged) && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(milliseconds(1));
}

void Connections::tell_failure() {
  if (std::exchange(has_told_, true)) return;
  const WorldFailure why = world_->failure();
  const std::string text = why.text.empty() ? "[communicator] a rank failed" : why.text.substr(0, kMostReason);
  for (int peer = 0; peer < size(); ++peer) {
    Link& link = links_[peer];
    // What nobody will take any more stands in the way; a frame that has begun has to go on.
    while (link.out.size() > 1) link.out.pop_back();
    link.requested.clear();
    Outgoing frame{.head = {.kind = FrameHead::Kind::abort,
                            .tag = static_cast<int32_t>(why.code),
                            .channel = why.is_whole ? 0u : 1u,
                            .number = static_cast<uint64_t>(why.lost + 1)},
                   .bytes = static_cast<int64_t>(text.size())};
    frame.own.assign(reinterpret_cast<const std::byte*>(text.data()),
                     reinterpret_cast<const std::byte*>(text.data()) + text.size());
    enqueue(peer, std::move(frame));
  }
}

void Connections::broadcast_failure() noexcept {
  try {
    {
      const std::lock_guard lock(mutex_);
      tell_failure();
    }
    await_sent(kAbortTime, /*acknowledged=*/true);
  } catch (const std::exception&) {  // the end of this process says enough
  }
}

void Connections::leave() {
  await_sent(kLeaveTime, /*acknowledged=*/false);
  {
    const std::lock_guard lock(mutex_);
    for (int peer = 0; peer < size(); ++peer) enqueue(peer, {.head = {.kind = FrameHead::Kind::leave}});
  }
  await_sent(kLeaveTime, /*acknowledged=*/true);
}

}  // namespace partita
