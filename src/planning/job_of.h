#pragma once
// A configuration as a job that can be run.

#include "job/config.h"
#include "planning/network_costs.h"

namespace partita {

/// The recipe with a configuration's ranks, micro-batches, sharding, stages and recomputation. Stages are marked by the
/// scopes of repeated layers, as the price dealt them out; others are on the stages of their neighbours. Layers without
/// scopes of their own are divided when the job is made.
JobConfig job_of(JobConfig recipe, const Configuration& configuration, const Price& price, const FoldedGraph& folded,
                 const Graph& forward);

}  // namespace partita
