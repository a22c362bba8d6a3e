#include "planner/compiled/largest_group.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace partita {

CompiledMemory largest_of_schedules(const std::vector<StageMemory>& estimates, const std::vector<StageMemory>& placed) {
  const auto most =
      std::ranges::max_element(placed, [](const auto& one, const auto& other) { return one.total() < other.total(); });
  const double states = most->parameters + most->optimizer;
  return {.compiler = "the schedule",
          .planned = estimates.at(static_cast<size_t>(most - placed.begin())).total(),
          .states = states,
          .temporaries = most->total() - states};
}

CompiledMemory largest_of_groups(const std::vector<StageMemory>& estimates,
                                 const std::function<CompiledMemory(size_t group)>& compile) {
  std::vector<size_t> left(estimates.size());
  std::iota(left.begin(), left.end(), 0);
  std::ranges::stable_sort(left, [&](size_t a, size_t b) { return estimates[a].total() > estimates[b].total(); });
  std::optional<CompiledMemory> most;
  double excess = 1;
  while (!left.empty()) {  // the first of them has the largest estimate
    const double planned = estimates[left.front()].total();
    if (most && planned * excess <= most->bytes()) break;
    CompiledMemory one = compile(left.front());
    one.planned = planned;
    left.erase(left.begin());
    if (planned > 0) excess = std::max(excess, one.bytes() / planned);
    if (!most || one.bytes() > most->bytes()) most = std::move(one);
  }
  return most.value();
}

}  // namespace partita
