#pragma once
// Where the thread that moves messages tells the threads that wait for them what is done.

#include <atomic>
#include <deque>
#include <memory>

#include "runtime/comm/carrier.h"
#include "runtime/comm/event_count.h"
#include "runtime/comm/world_state.h"

namespace partita {

/// Marks messages as done and waits for that. Every function may be called from any thread, with or without the lock of
/// the connections; none takes a lock. A failure of the world in which it is enlisted wakes all waits.
class Completions final : public Wakeable {
 public:
  explicit Completions(WaitPolicy policy) : policy_(policy) {}

  /// Whether `finish` was called; what was written before that is visible then.
  static bool is_done(const PendingMessage& message);
  /// The last access to `message` by the calling thread: its owner may destroy it at once.
  void finish(PendingMessage& message);
  /// Returns when the first `count` are done, `world` has failed or `until` has passed; whether they are done.
  bool wait(const std::deque<PendingMessage>& messages, size_t count, Deadline until, const WorldState& world);
  /// Whether a thread waits that spins before it blocks.
  bool is_spun_for() const { return policy_.spins > 0 && waiting_.load() > 0; }
  void wake() noexcept override { changed_.notify(); }

 private:
  EventCount changed_;
  std::atomic<int> waiting_ = 0;  // calls of wait()
  const WaitPolicy policy_;
};

}  // namespace partita
