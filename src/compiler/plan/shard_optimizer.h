#pragma once
// Optimizer sharding: divides over the ranks what a data-parallel plan keeps on each of them (ZeRO; Rajbhandari et al.,
// 2020).

#include "compiler/plan/plan.h"
#include "ir/graph/rules.h"

namespace partita {

struct OptimizerSharding {
  /// ZeRO level.
  /// 0: every rank keeps everything.
  /// 1: optimizer states are sharded, and with them updates and what is computed from gradients. A gradient is
  /// reduce-scattered, a new parameter gathered.
  /// 2: gradients are also sharded as they are made. With micro-batches this applies to each of them, so that sums over
  /// micro-batches are kept in parts.
  /// 3: parameters are sharded too. The forward gathers each at its first use, and the backward gathers it again.
  int64_t level = 0;
  int64_t group = 0;                      // ranks that share one copy; 0: all that share the batch
  int64_t threshold = int64_t{64} << 10;  // bytes; smaller parameters are not sharded
};

/// Returns the plan with what the level shards cut further, over axes that cut the batch but not the parameter. A
/// parameter whose dimensions are all smaller than the number of parts is not sharded. Level 0 changes nothing. Throws
/// InvalidArgument for a group size that no axes have, with the possible sizes.
Plan shard_optimizer(Plan plan, const Graph& graph, const Rules& rules, const OptimizerSharding& options);

}  // namespace partita
