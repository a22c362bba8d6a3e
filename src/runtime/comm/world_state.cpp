#include "runtime/comm/world_state.h"

#include "runtime/comm/call.h"

namespace partita {

void WorldState::fail(WorldFailure failure, const std::string& text) noexcept {
  std::vector<std::shared_ptr<Wakeable>> woken;
  {
    const std::lock_guard lock(mutex_);
    if (aborted_.load()) return;
    failure_ = std::move(failure);
    try {
      failure_.text = text;
      for (const std::weak_ptr<Wakeable>& weak : groups_) {
        if (auto group = weak.lock()) woken.push_back(std::move(group));
      }
    } catch (const std::bad_alloc&) {  // then only the code says why, and waiting calls notice at their next poll
    }
    aborted_.store(true);
  }
  for (const auto& group : woken) group->wake();
}

WorldFailure WorldState::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void WorldState::throw_if_aborted() const {
  if (!aborted_.load()) return;
  const WorldFailure why = failure();
  if (why.is_whole) throw RuntimeFailure(why.code, why.text);
  throw RuntimeFailure(why.code, fmt::format("[communicator] a rank was lost: {}", why.text));
}

void WorldState::throw_if_aborted(const Call& call, std::span<const int> world_ranks, uint64_t number) const {
  if (!aborted_.load()) return;
  const WorldFailure why = failure();
  if (why.is_whole) throw RuntimeFailure(why.code, why.text);
  throw RuntimeFailure(why.code, lost(call, why.text, world_ranks, number));
}

void WorldState::enlist(const std::shared_ptr<Wakeable>& group) {
  const std::lock_guard lock(mutex_);
  std::erase_if(groups_, [](const auto& known) { return known.expired(); });
  groups_.push_back(group);
}

}  // namespace partita
