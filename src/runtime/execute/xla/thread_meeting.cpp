#include "runtime/execute/xla/thread_meeting.h"

#include <map>
#include <mutex>
#include <random>
#include <set>

#include "base/error.h"

namespace partita {
namespace {

/// Finds an object of a process by a number, until all that look for it have met.
class Meeting {
 public:
  int64_t announce(const std::shared_ptr<void>& object) {
    const std::lock_guard lock(mutex_);
    objects_.emplace(++last_, object);
    return last_;
  }
  std::shared_ptr<void> find(int64_t number) {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(number);
    return found == objects_.end() ? nullptr : found->second.lock();
  }
  void forget(int64_t number) {
    const std::lock_guard lock(mutex_);
    objects_.erase(number);
  }

 private:
  std::mutex mutex_;
  int64_t last_ = 0;  // guarded by `mutex_`, as is `objects_`
  std::map<int64_t, std::weak_ptr<void>> objects_;
};

/// A random number, the same for all ranks of a process.
int64_t number_of_process() {
  static const int64_t number = [] {
    std::random_device random;
    return static_cast<int64_t>(random()) << 31 | random() >> 1;
  }();
  return number;
}

}  // namespace

std::vector<int64_t> gathered(Communicator& ranks, int64_t own) {
  std::vector<int64_t> all(static_cast<size_t>(ranks.size()));
  ranks.all_gather(&own, all.data(), std::vector<int64_t>(all.size(), 1), DType::i64);
  return all;
}

std::optional<bool> are_threads(Communicator& ranks) {
  const std::vector<int64_t> processes = gathered(ranks, number_of_process());
  const size_t count = std::set<int64_t>(processes.begin(), processes.end()).size();
  if (count == 1) return true;
  return count == processes.size() ? std::optional(false) : std::nullopt;
}

std::shared_ptr<void> shared_by_threads(Communicator& ranks, const std::shared_ptr<void>& of_first) {
  static Meeting meeting;
  int64_t number = ranks.rank() == 0 ? meeting.announce(of_first) : 0;
  ranks.broadcast(&number, 1, DType::i64, 0);
  std::shared_ptr<void> found = ranks.rank() == 0 ? of_first : meeting.find(number);
  ranks.barrier();
  if (ranks.rank() == 0) meeting.forget(number);
  PARTITA_CHECK(found != nullptr, "no object {} of the first rank", number);
  return found;
}

}  // namespace partita
