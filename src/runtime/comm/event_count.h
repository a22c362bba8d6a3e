#pragma once
// Waiting for a condition that other threads, or processes, make true: spin, then yield, then block.

#include <sched.h>

#include <atomic>
#include <chrono>
#include <cstdint>

namespace partita {

using Deadline = std::chrono::steady_clock::time_point;

/// From now, at most a year.
Deadline deadline_after(std::chrono::milliseconds timeout);

/// How long a waiter spins before it blocks.
struct WaitPolicy {
  int spins = 0;  // only where every thread has a core of its own
  int yields = 0;
};

/// The policy for `threads` threads that wait for one another.
WaitPolicy wait_policy(int threads);

/// One step of a busy loop.
inline void cpu_pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/// Whoever changes what a waiter's condition reads calls notify afterwards; no wake-up is lost, and
/// notify costs no system call while nobody blocks. The condition itself lies in atomics or behind
/// a mutex of the caller, written with memory_order_seq_cst or under that mutex.
class EventCount {
 public:
  /// Whether waiters are threads of one process, or of several that share the memory of the object.
  enum class Scope { process, host };
  explicit EventCount(Scope scope = Scope::process) : scope_(scope) {}

  void notify();

  /// Returns what `done` says when it becomes true or the deadline passes.
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
  /// Sleeps while the ticket is `seen`; false once the deadline has passed.
  bool block(uint32_t seen, Deadline deadline);

  const Scope scope_;
  std::atomic<uint32_t> ticket_{0};
  std::atomic<int> waiters_{0};
};

}  // namespace partita
