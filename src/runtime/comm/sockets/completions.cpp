#include "runtime/comm/sockets/completions.h"

#include <algorithm>

namespace partita {

bool Completions::is_done(const PendingMessage& message) {
  return std::atomic_ref<bool>(const_cast<bool&>(message.done)).load(std::memory_order_acquire);
}

void Completions::finish(PendingMessage& message) {
  std::atomic_ref<bool>(message.done).store(true, std::memory_order_release);
  changed_.notify();
}

bool Completions::wait(const std::deque<PendingMessage>& messages, size_t count, Deadline until,
                       const WorldState& world) {
  const auto all_done = [&] {
    return std::all_of(messages.begin(), messages.begin() + static_cast<std::ptrdiff_t>(count), is_done);
  };
  ++waiting_;
  changed_.wait([&] { return all_done() || world.is_aborted(); }, until, policy_);
  --waiting_;
  return all_done();
}

}  // namespace partita
