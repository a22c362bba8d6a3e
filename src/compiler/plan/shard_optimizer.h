#pragma once
// Optimizer sharding: divides over the ranks what a data-parallel plan keeps on each of them (ZeRO; Rajbhandari et al.,
// 2020).

#include "compiler/plan/optimizer_sharding.h"
#include "compiler/plan/plan.h"
#include "ir/graph/rules.h"

namespace partita {

/// Returns the plan with what `options.level` shards cut further: from 1 optimizer states and parameters that only
/// conversions use before the update, from 2 gradients, from 3 all parameters. They are cut over the axes that cut the
/// batch (the last of these that make up `options.group` ranks, unless it is 0) but not the parameter. What belongs to
/// a parameter of less than `options.threshold` bytes, to one whose dimensions are all smaller than the number of
/// parts, or to one that is not updated stays. Level 0 changes nothing. Throws InvalidArgument for a group size that no
/// axes have, with the possible sizes.
Plan shard_optimizer(Plan plan, const Graph& graph, const Rules& rules, const OptimizerSharding& options);

/// Cuts the conversions of states, such as casts to 16 bits, as the plan cuts the states, so that what they make is
/// gathered in place of the states.
void cut_conversions_of_states(Plan& plan, const Graph& graph, const Rules& rules);

}  // namespace partita
