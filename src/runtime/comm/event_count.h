#pragma once
// Waits for a condition that other threads, or processes, make true: spins, then yields, then blocks.

#include <sched.h>

#include <atomic>
#include <chrono>
#include <cstdint>

namespace partita {

using Deadline = std::chrono::steady_clock::time_point;

/// Returns the time `timeout` from now; now if it is negative, at most a year from now.
Deadline deadline_after(std::chrono::milliseconds timeout);

/// How long a waiter spins before it blocks.
struct WaitPolicy {
  int spins = 0;  // 0 unless every thread has a core of its own
  int yields = 0;
};

/// Returns the policy for `threads` threads that wait for one another on `cores` cores: they yield and then block. If
/// each has a core of its own, they spin first.
WaitPolicy wait_policy(int threads, int cores);

/// Lets the processor rest in an iteration of a busy loop. Does nothing on processors other than x86-64.
inline void cpu_pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/// Wakes threads that wait for a condition. Call `notify` after changing what the condition reads: no wake-up is lost,
/// and it needs no system call while nobody blocks. The condition itself is in atomics, written with
/// memory_order_seq_cst, or behind a mutex of the caller.
class EventCount {
 public:
  /// Waiters are threads of one process, or of several processes that share this object's memory.
  enum class Scope { process, host };
  explicit EventCount(Scope scope = Scope::process) : scope_(scope) {}

  void notify();

  /// Waits until `done` returns true or the deadline passes. Returns the last result of `done`.
  template <class Done>
  bool wait(Done&& done, Deadline deadline, const WaitPolicy& policy) {
    for (int i = 0; i < policy.spins; ++i) {
      if (done()) return true;
      cpu_pause();
    }
    for (int i = 0; i < policy.yields; ++i) {
      if (done()) return true;
      sched_yield();
    }
    waiters_.fetch_add(1);
    bool finished = false;
    bool in_time = true;
    while (true) {
      const uint32_t seen = ticket_.load();
      finished = done();
      if (finished || !in_time) break;
      in_time = block(seen, deadline);
    }
    waiters_.fetch_sub(1);
    return finished;
  }

 private:
  /// Sleeps while the ticket is `seen`, until `notify` or the deadline. Returns whether the deadline has not passed
  /// yet; may wake for no reason.
  bool block(uint32_t seen, Deadline deadline);

  const Scope scope_;
  std::atomic<uint32_t> ticket_{0};
  std::atomic<int> waiters_{0};
};

}  // namespace partita
