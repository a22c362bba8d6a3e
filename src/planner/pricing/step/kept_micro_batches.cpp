#include "planner/pricing/step/kept_micro_batches.h"

#include <algorithm>
#include <functional>

namespace partita {
namespace {

/// Removes all vectors that another one dominates: has at least as many in every place.
void remove_lesser(KeptMicroBatches& all) {
  std::erase_if(all, [&](const std::vector<int64_t>& one) {
    return std::ranges::any_of(all, [&](const std::vector<int64_t>& other) {
      return other != one && std::equal(one.begin(), one.end(), other.begin(), std::less_equal<>());
    });
  });
}

}  // namespace

std::vector<KeptMicroBatches> kept_micro_batches(const Sequence& sequence, Order order, int64_t groups) {
  const StageSection last = order == Order::zero_bubble ? StageSection::weight : StageSection::backward;
  int highest = 0;
  for (const Slot& slot : sequence) highest = std::max(highest, slot.stage);
  std::vector<KeptMicroBatches> most(static_cast<size_t>(groups));
  std::vector<std::vector<int64_t>> now(most.size(),
                                        std::vector<int64_t>(static_cast<size_t>(highest / groups + 1), 0));
  for (const Slot& slot : sequence) {
    const auto group = static_cast<size_t>(slot.stage % groups);
    int64_t& own = now[group][static_cast<size_t>(slot.stage / groups)];
    if (slot.section == StageSection::forward) {
      ++own;
      most[group].insert(now[group]);
    }
    if (slot.section == last) --own;
  }
  for (KeptMicroBatches& of_group : most) remove_lesser(of_group);
  return most;
}

}  // namespace partita
