#include "planner/pricing/search/job_of.h"

#include "compiler/plan/name_stages.h"

namespace partita {
namespace {

/// The stages of the whole graph's nodes; states are left out. Copies of a unit are assigned in their order.
StageAssignment assigned_stages(const Price& price, const FoldedGraph& folded, const Graph& forward) {
  StageAssignment assignment{.stages = static_cast<int64_t>(price.layers.size()), .nodes = {}, .states = {}};
  assignment.nodes.assign(forward.nodes.size(), 0);
  std::vector<size_t> used(folded.units.size(), 0);
  for (size_t stage = 0; stage < price.layers.size(); ++stage) {
    for (size_t u = 0; u < used.size(); ++u) {
      const FoldedUnit& unit = folded.units[u];
      const size_t nodes = unit.end - unit.begin, begin = unit.whole_begin + used[u] * nodes;
      used[u] += price.layers[stage][u].count();
      for (size_t n = begin; n < unit.whole_begin + used[u] * nodes; ++n) assignment.nodes[n] = static_cast<int>(stage);
    }
  }
  return assignment;
}

}  // namespace

RecomputedNames recomputed_names(const Price& price, const FoldedGraph& folded, const Graph& forward,
                                 const OpSet& ops) {
  StageAssignment assignment{.stages = kNames<Recompute>.size(), .nodes = {}, .states = {}};
  assignment.nodes.assign(forward.nodes.size(), 0);
  std::vector<size_t> next;  // per unit: its next node
  for (const FoldedUnit& unit : folded.units) next.push_back(unit.whole_begin);
  for (const StageLayers& stage : price.layers) {
    for (size_t u = 0; u < next.size(); ++u) {
      for (const Recompute policy : kPoliciesInOrder) {
        const size_t nodes = stage[u].of(policy) * (folded.units[u].end - folded.units[u].begin);
        for (const size_t end = next[u] + nodes; next[u] < end; ++next[u]) {
          const bool is_chosen = !recomputed_group(forward.nodes[next[u]], policy, ops).empty();
          assignment.nodes[next[u]] = static_cast<int>(is_chosen ? policy : Recompute::none);
        }
      }
    }
  }
  const std::vector<std::vector<std::string>> names = name_stages(forward, assignment);
  RecomputedNames recomputed;
  for (const Recompute policy : {Recompute::full, Recompute::selective}) {
    const std::vector<std::string>& own = names[static_cast<size_t>(policy)];
    if (!own.empty()) recomputed.emplace(policy, own);
  }
  return recomputed;
}

std::vector<RecomputeAnnotation> recompute_annotations(const RecomputedNames& recomputed) {
  std::vector<RecomputeAnnotation> annotations;
  for (const auto& [policy, names] : recomputed) {
    for (const std::string& layers : names) annotations.push_back({layers, policy});
  }
  return annotations;
}

std::vector<std::vector<std::string>> stage_names(const Price& price, const FoldedGraph& folded, const Graph& forward) {
  return name_stages(forward, assigned_stages(price, folded, forward));
}

PipelineOptions pipeline_of(const Configuration& configuration, const std::vector<std::vector<std::string>>& stages) {
  PipelineOptions options{.stages = configuration.pipeline * configuration.interleave,
                          .order = configuration.order,
                          .interleave = configuration.interleave};
  for (size_t stage = 0; stage < stages.size(); ++stage) {
    for (const std::string& layers : stages[stage]) {
      options.stage_annotations.push_back({layers, static_cast<int>(stage)});
    }
  }
  return options;
}

JobConfig job_of(JobConfig recipe, const Configuration& configuration, const Price& price, const FoldedGraph& folded,
                 const Graph& forward, const OpSet& ops) {
  const int64_t batch = recipe.training.batch;
  recipe.ranks.count = static_cast<int>(configuration.ranks());
  recipe.plan.recompute = configuration.recompute.all;
  if (configuration.recompute.is_counted())
    recipe.plan.recompute_layers = recompute_annotations(recomputed_names(price, folded, forward, ops));
  PlanOptions& options = recipe.plan.options;
  options.micro_batches = micro_batches(configuration, batch);
  options.zero.level = configuration.zero;
  if (configuration.tensor * configuration.context > 1) {
    options.parallel = Parallel::automatic;
    options.blocks = blocks_of(configuration);
  }
  if (configuration.pipeline == 1) return recipe;
  options.pipeline = pipeline_of(configuration, stage_names(price, folded, forward));
  return recipe;
}

}  // namespace partita
