#include "runtime/comm/sockets/connections.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/resources.h"
#include "base/usable_cores.h"

namespace partita {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kAliveInterval{250};
constexpr milliseconds kPollTime{1};  // how long the thread polls after an event while a rank waits for messages
constexpr milliseconds kAbortTime{300}, kLeaveTime{10'000};
constexpr uint64_t kWakeEvent = ~uint64_t{0};

/// Returns the number of threads of the ranks on this host, two per rank: each has one more, which moves its messages.
int threads_here(const ConnectionOptions& options) {
  const std::string& here = options.hosts.at(static_cast<size_t>(options.rank));
  return 2 * static_cast<int>(std::count(options.hosts.begin(), options.hosts.end(), here));
}

}  // namespace

Connections::Connections(std::vector<Socket> links, ConnectionOptions options, std::shared_ptr<WorldState> world)
    : options_(std::move(options)),
      world_(std::move(world)),
      completions_(std::make_shared<Completions>(wait_policy(threads_here(options_), usable_cores().shared()))),
      poll_(::epoll_create1(EPOLL_CLOEXEC)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!poll_.is_open() || !wake_.is_open()) throw_cannot_start("the connections of a rank", std::strerror(errno));
  epoll_event event{.events = EPOLLIN, .data = {.u64 = kWakeEvent}};
  ::epoll_ctl(poll_.file(), EPOLL_CTL_ADD, wake_.file(), &event);
  const LinkContext context{.poll = poll_.file(), .completions = *completions_, .world = *world_};
  for (size_t peer = 0; peer < links.size(); ++peer) {
    links_.push_back(
        std::make_unique<Link>(static_cast<int>(peer), options_.hosts[peer], std::move(links[peer]), context));
  }
  world_->enlist(completions_);
  thread_ = start_thread("a thread that moves messages", [this] { loop(); });
}

Connections::~Connections() {
  if (world_->is_aborted()) broadcast_failure();
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_.file(), &one, sizeof one);
  if (thread_.joinable()) thread_.join();
}

void Connections::loop() {
  std::array<epoll_event, 64> events;
  Deadline next = std::chrono::steady_clock::now() + kAliveInterval, polls_until{};
  while (true) {
    const Deadline begin = std::chrono::steady_clock::now();
    // Polls, since waking a sleeping thread takes longer than a message of some KiB.
    const bool polls = begin < std::min(polls_until, next) && completions_->is_spun_for();
    const auto rest = polls ? 0 : std::chrono::ceil<milliseconds>(next - begin).count();
    const int count = ::epoll_wait(poll_.file(), events.data(), static_cast<int>(events.size()),
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
        if (events[i].data.u64 != kWakeEvent) links_[events[i].data.u64]->handle(events[i].events);
      }
      const Deadline now = std::chrono::steady_clock::now();
      if (now >= next) {
        // A process that was itself suspended has heard nobody in that time.
        if (now - next > 4 * kAliveInterval) {
          for (const auto& link : links_) link->forgive_silence(now);
        }
        tick(now);
        next = now + kAliveInterval;
      }
      if (world_->is_aborted()) send_failure();
    }
  }
}

void Connections::tick(Deadline now) {
  for (const auto& link : links_) link->tick(now, options_.stall, kAliveInterval / 2);
}

void Connections::start(PendingMessage& transfer, int peer, uint64_t channel) {
  const std::lock_guard lock(mutex_);
  links_[peer]->start(transfer, channel);
}

void Connections::post(const PendingMessage& message, int peer, uint64_t channel) {
  std::vector<std::byte> bytes(message.data, message.data + message.bytes);
  const std::lock_guard lock(mutex_);
  links_[peer]->post(message, std::move(bytes), channel);
}

bool Connections::wait(std::deque<PendingMessage>& transfers, size_t count, Deadline until) {
  return completions_->wait(transfers, count, until, *world_);
}

bool Connections::withdraw(std::deque<PendingMessage>& transfers, std::span<const int> peers,
                           uint64_t channel) noexcept {
  const std::lock_guard lock(mutex_);
  bool clean = true;
  for (size_t i = 0; i < transfers.size(); ++i) {
    if (is_done(transfers[i])) continue;
    clean = links_[peers[i]]->withdraw(transfers[i], channel) && clean;
  }
  return clean;
}

bool Connections::has_left(int peer) {
  const std::lock_guard lock(mutex_);
  return links_[peer]->has_left();
}

bool Connections::is_sent(bool acknowledged) {
  const std::lock_guard lock(mutex_);
  return std::all_of(links_.begin(), links_.end(), [&](const auto& link) { return link->is_sent(acknowledged); });
}

void Connections::await_sent(milliseconds most, bool acknowledged) {
  const Deadline until = deadline_after(most);
  while (!is_sent(acknowledged) && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(milliseconds(1));
}

/// Sends the failure to all peers at the first call; does nothing later. Requires the lock.
void Connections::send_failure() {
  if (std::exchange(has_told_, true)) return;
  const WorldFailure why = world_->failure();
  for (const auto& link : links_) link->send_failure(why);
}

void Connections::broadcast_failure() noexcept {
  try {
    {
      const std::lock_guard lock(mutex_);
      send_failure();
    }
    await_sent(kAbortTime, /*acknowledged=*/true);
  } catch (const std::exception&) {  // the end of this process tells the others
  }
}

void Connections::leave() {
  await_sent(kLeaveTime, /*acknowledged=*/false);
  {
    const std::lock_guard lock(mutex_);
    for (const auto& link : links_) link->send_leave();
  }
  await_sent(kLeaveTime, /*acknowledged=*/true);
}

}  // namespace partita
