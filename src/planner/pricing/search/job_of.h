#pragma once
// The job that runs a configuration.

#include "job/config.h"
#include "planner/pricing/search/network_costs.h"

namespace partita {

/// Returns `recipe` with the ranks, micro-batches, sharding, stages and recomputation of a completed configuration; the
/// batch is that of `recipe`. Stages and recomputed layers are given by the names of layers, in the assignment of the
/// price.
JobConfig job_of(JobConfig recipe, const Configuration& configuration, const Price& price, const FoldedGraph& folded,
                 const Graph& forward, const OpSet& ops);

/// Returns the prefixes of the layers' paths for each stage, in the assignment of the price.
std::vector<std::vector<std::string>> stage_names(const Price& price, const FoldedGraph& folded, const Graph& forward);

/// The prefixes of the paths of recomputed layers, by policy.
using RecomputedNames = std::map<Recompute, std::vector<std::string>>;
/// Returns the names of the layers that are recomputed in the assignment of the price; a policy without layers is left
/// out.
RecomputedNames recomputed_names(const Price& price, const FoldedGraph& folded, const Graph& forward, const OpSet& ops);
/// Returns a recomputation annotation for each prefix in `recomputed`, with its policy.
std::vector<RecomputeAnnotation> recompute_annotations(const RecomputedNames& recomputed);

/// Returns the stages of a completed configuration, with an annotation for each prefix of the layers' paths in
/// `stages`, which lists them by stage.
PipelineOptions pipeline_of(const Configuration& configuration, const std::vector<std::vector<std::string>>& stages);

}  // namespace partita
