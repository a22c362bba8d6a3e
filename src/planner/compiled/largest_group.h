#pragma once
// The group of stages whose programs need the most memory, found with few compilations.

#include <functional>

#include "planner/pricing/search/print_price.h"

namespace partita {

/// Returns the memory of the group whose schedule takes most, with what was planned for it. Both have the groups in
/// their order; there is at least one.
CompiledMemory largest_of_schedules(const std::vector<StageMemory>& estimates, const std::vector<StageMemory>& placed);
/// Returns the most memory that `compile` returns for a group, with what was planned for it. Groups are compiled from
/// the largest estimate on, until the next estimate, raised by the largest factor by which one was too low, is at most
/// the most memory. There is at least one group. Throws what `compile` throws.
CompiledMemory largest_of_groups(const std::vector<StageMemory>& estimates,
                                 const std::function<CompiledMemory(size_t group)>& compile);

}  // namespace partita
