#include "comm/sockets/connections.h"

#include <linux/sockios.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/resources.h"

namespace partita {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kAliveInterval{250};
constexpr milliseconds kPollTime{1};  // from one event to the next while a rank waits for messages
constexpr milliseconds kAbortTime{300}, kLeaveTime{10'000};
constexpr size_t kBufferBytes = size_t{64} << 10;
constexpr uint64_t kWakeEvent = ~uint64_t{0};

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
    if (count > 0) polls_until = std::chrono::steady_clock::now() + kPollTime;
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
