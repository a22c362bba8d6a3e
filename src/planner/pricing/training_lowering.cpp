#include "planner/pricing/training_lowering.h"

#include "compiler/partition/partition.h"
#include "compiler/plan/cut_blocks.h"
#include "compiler/plan/cut_micro_batches.h"
#include "compiler/search/search_tensor_cuts.h"

namespace partita {

TrainingLowering::Training& TrainingLowering::training(Recompute recompute) {
  const auto cached = trainings_.find(recompute);
  if (cached != trainings_.end()) return cached->second;
  TrainingOptions options = training_;
  options.recompute = recompute;
  options.scalar_outputs = true;
  Graph graph = make_training_graph(forward_, table_.ops(), options).graph;
  Rules rules(graph, table_);
  return trainings_.emplace(recompute, Training{std::move(graph), std::move(rules), {}}).first->second;
}

/// Returns the plan of a training: that of `own_plan` if it is set. Else cuts are searched without recomputation, so
/// that recomputation only adds to the costs of a layer. Throws InvalidArgument if the network cannot be cut so, and
/// what `own_plan` throws.
Plan TrainingLowering::plan_of(const Training& training, const LoweringOptions& options) {
  const auto& [graph, rules, micro_cuts] = training;
  if (options.own_plan) return options.own_plan(graph, options.ranks);
  const OpSet& ops = table_.ops();
  const Mesh mesh = make_mesh(graph, options.ranks, options.plan);
  if (options.recompute == Recompute::none || !options.plan.blocks.searched || options.ranks == 1)
    return make_plan(graph, rules, ops, mesh, options.plan);
  const Training& kept = this->training(Recompute::none);
  const Plan plan = make_plan(kept.graph, kept.rules, ops, mesh, options.plan);
  PartialPlan partial(graph);
  for (size_t n = 0; n < graph.nodes.size() && graph.nodes[n].phase == Phase::forward; ++n) {
    PARTITA_CHECK(graph.nodes[n].op == kept.graph.nodes.at(n).op, "node {} of the forward changed", n);
    partial.cuts[n] = plan.cuts[n];
  }
  const Axes tensor = block_axes(mesh, options.plan.blocks).tensor;
  const CutSearch search{.kind = options.plan.search,
                         .costs = options.plan.costs(one_axis(mesh, tensor)),
                         .squeeze = options.plan.blocks.squeeze};
  partial = search_tensor_cuts(graph, rules, ops, mesh, tensor, search, std::move(partial));
  return complete_plan(graph, rules, mesh, plan.search, std::move(partial));
}

LocalGraph TrainingLowering::lower(const LoweringOptions& options) {
  const int64_t micro_batches = options.plan.micro_batches;
  Training& own = training(options.recompute);
  auto& [graph, rules, micro_cuts] = own;
  Plan plan = plan_of(own, options);
  if (micro_batches > 1) {
    auto cuts = micro_cuts.find(micro_batches);
    if (cuts == micro_cuts.end()) {
      cuts = micro_cuts.emplace(micro_batches, find_micro_cuts(graph, rules, micro_batches)).first;
    }
    plan = cut_micro_batches(std::move(plan), graph, rules, cuts->second);
  }
  if (options.own_plan) verify(plan, graph, table_.ops());
  return partition(insert_reshards(graph, table_, plan));
}

}  // namespace partita
