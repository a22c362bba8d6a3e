#pragma once
// Optimizer sharding: divides over the ranks what a data-parallel plan keeps on each of them (ZeRO; Rajbhandari et al.,
// 2020).

#include "compiler/plan/optimizer_sharding.h"
#include "compiler/plan/plan.h"
#include "ir/graph/rules.h"

namespace partita {

/// Returns the plan with what the level shards cut further, over axes that cut the batch but not the parameter:
/// optimizer states (1), gradients (2), parameters (3). A parameter of less than `options.threshold` bytes, or whose
/// dimensions are all smaller than the number of parts, is not sharded. Level 0 changes nothing. Throws InvalidArgument
/// for a group size that no axes have, with the possible sizes.
Plan shard_optimizer(Plan plan, const Graph& graph, const Rules& rules, const OptimizerSharding& options);

}  // namespace partita
