#include "comm/inproc/world.h"

namespace partita {

void World::abort(const std::string& message, ExitCode code) noexcept {
  const std::lock_guard lock(mutex_);
  if (aborted_.load()) return;
  code_ = code;
  try {
    message_ = message;
  } catch (const std::bad_alloc&) {  // the code alone then says why
  }
  aborted_.store(true);
  for (const std::weak_ptr<Wakeable>& weak : groups_) {
    if (const auto group = weak.lock()) group->wake();
  }
}

void World::throw_if_aborted() const {
  if (!aborted_.load()) return;
  const std::lock_guard lock(mutex_);
  throw RuntimeFailure(code_, message_);
}

void World::enlist(const std::shared_ptr<Wakeable>& group) {
  const std::lock_guard lock(mutex_);
  std::erase_if(groups_, [](const auto& known) { return known.expired(); });
  groups_.push_back(group);
}

}  // namespace partita
