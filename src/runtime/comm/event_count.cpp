#include "runtime/comm/event_count.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <ctime>

namespace partita {

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t), "the kernel compares 32 bits");

Deadline deadline_after(std::chrono::milliseconds timeout) {
  constexpr std::chrono::milliseconds kLongest = std::chrono::hours(24 * 365);
  return std::chrono::steady_clock::now() + std::clamp(timeout, std::chrono::milliseconds::zero(), kLongest);
}

WaitPolicy wait_policy(int threads, int cores) { return {.spins = threads <= cores ? 400 : 0, .yields = 20}; }

void EventCount::notify() {
  ticket_.fetch_add(1);
  if (waiters_.load() == 0) return;
  const int wake = scope_ == Scope::process ? FUTEX_WAKE_PRIVATE : FUTEX_WAKE;
  syscall(SYS_futex, &ticket_, wake, INT_MAX, nullptr, nullptr, 0);
}

bool EventCount::block(uint32_t seen, Deadline deadline) {
  using std::chrono::nanoseconds;
  // steady_clock is CLOCK_MONOTONIC, and this system call takes an absolute time of that clock.
  const auto since_start = std::chrono::duration_cast<nanoseconds>(deadline.time_since_epoch());
  const timespec until{.tv_sec = static_cast<time_t>(since_start.count() / 1'000'000'000),
                       .tv_nsec = static_cast<long>(since_start.count() % 1'000'000'000)};
  const int wait = scope_ == Scope::process ? FUTEX_WAIT_BITSET_PRIVATE : FUTEX_WAIT_BITSET;
  syscall(SYS_futex, &ticket_, wait, seen, &until, nullptr, FUTEX_BITSET_MATCH_ANY);
  return std::chrono::steady_clock::now() < deadline;
}

}  // namespace partita
