#pragma once
// A configuration as a job that can be run.

#include "job/config.h"
#include "planner/pricing/network_costs.h"

namespace partita {

/// The recipe with a configuration's ranks, micro-batches, sharding, stages and recomputation. Stages, and layers that
/// are recomputed, are marked by the names of layers, as the price dealt them out.
JobConfig job_of(JobConfig recipe, const Configuration& configuration, const Price& price, const FoldedGraph& folded,
                 const Graph& forward, const OpSet& ops);

/// What the paths of each stage's layers begin with, as the price dealt them out.
std::vector<std::vector<std::string>> stage_names(const Price& price, const FoldedGraph& folded, const Graph& forward);

/// What the paths of layers begin with that are recomputed, by policy.
using RecomputedNames = std::map<Recompute, std::vector<std::string>>;
RecomputedNames recomputed_names(const Price& price, const FoldedGraph& folded, const Graph& forward, const OpSet& ops);
std::vector<RecomputeMark> recompute_marks(const RecomputedNames& recomputed);

/// Of the layers of each stage.
std::vector<StageMark> stage_marks(const std::vector<std::vector<std::string>>& stages);

}  // namespace partita
