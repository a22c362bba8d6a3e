#pragma once
// Tells the threads that wait for messages which are done.

#include <atomic>
#include <deque>
#include <memory>

#include "runtime/comm/carrier.h"
#include "runtime/comm/event_count.h"
#include "runtime/comm/world_state.h"

namespace partita {

/// Marks messages as done, and waits for that. Every function may be called from any thread, with or without the lock
/// of the connections; none takes a lock. A failure of the world in which this object is enlisted wakes all waiting
/// threads.
class Completions final : public Wakeable {
 public:
  explicit Completions(WaitPolicy policy) : policy_(policy) {}

  /// Whether `finish` was called. What was written before that call is visible then.
  static bool is_done(const PendingMessage& message);
  /// Marks a message as done and wakes waiting threads. This is the calling thread's last access to `message`: its
  /// owner may destroy it at once.
  void finish(PendingMessage& message);
  /// Returns when the first `count` messages are done, `world` has failed or `until` has passed. Returns whether they
  /// are done.
  bool wait(const std::deque<PendingMessage>& messages, size_t count, Deadline until, const WorldState& world);
  /// Whether a thread is waiting that spins before it blocks.
  bool is_spun_for() const { return policy_.spins > 0 && waiting_.load() > 0; }
  void wake() noexcept override { changed_.notify(); }

 private:
  EventCount changed_;
  std::atomic<int> waiting_ = 0;  // number of running calls of wait()
  const WaitPolicy policy_;
};

}  // namespace partita
