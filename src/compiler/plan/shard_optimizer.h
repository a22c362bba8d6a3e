#pragma once
// Optimizer sharding: what a data-parallel plan keeps on every rank is divided over the ranks (ZeRO; Rajbhandari et
// al., 2020).

#include "compiler/plan/plan.h"
#include "ir/graph/rules.h"

namespace partita {

struct OptimizerSharding {
  /// 0: every rank keeps all. 1: states of the optimizer are cut, and with them updates and what follows gradients; a
  /// gradient is reduced and scattered, a new parameter gathered. 2: gradients are cut as they are made: with
  /// micro-batches, in each of them, so that sums over micro-batches are kept in parts. 3: parameters are cut as well;
  /// the forward gathers each of them where it is used first, and the backward again.
  int64_t level = 0;
  int64_t group = 0;                      // ranks that share one copy; 0: all that share the batch
  int64_t threshold = int64_t{64} << 10;  // bytes; smaller parameters stay whole
};

/// The plan with optimizer states, gradients and updates cut further, over the axes that cut the batch and not the
/// parameter. A parameter with fewer rows in each dimension than ranks stays whole. Throws InvalidArgument for a group
/// that no axes make, with those that some do.
Plan shard_optimizer(Plan plan, const Graph& graph, const Rules& rules, const OptimizerSharding& options);

}  // namespace partita
