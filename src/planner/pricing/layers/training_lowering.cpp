#include "planner/pricing/layers/training_lowering.h"

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
  return trainings_.emplace(recompute, Training{std::move(graph), std::move(rules), {}, {}}).first->second;
}

/// Returns the forward nodes of a training. Searches over them differ in costs, so that what prices consist of is kept.
const ForwardNodes& TrainingLowering::nodes(Training& training) {
  if (!training.nodes)
    training.nodes =
        std::make_unique<const ForwardNodes>(training.graph, training.rules, table_.ops(), /*traced=*/true);
  return *training.nodes;
}

PartialPlan TrainingLowering::searched_cuts(int64_t ranks, const PlanOptions& plan) {
  Training& kept = training(Recompute::none);
  return searched_blocks(nodes(kept), make_mesh(kept.graph, ranks, plan), plan);
}

PartialPlan TrainingLowering::recomputed_cuts(Recompute recompute, int64_t ranks, const PlanOptions& plan,
                                              const PartialPlan& kept) {
  Training &own = training(recompute), &whole = training(Recompute::none);
  const Mesh mesh = make_mesh(own.graph, ranks, plan);
  const Plan completed = complete_plan(whole.graph, whole.rules, mesh, std::string(name_of(plan.search)), kept);
  PartialPlan partial(own.graph);
  for (size_t n = 0; n < own.graph.nodes.size() && own.graph.nodes[n].phase == Phase::forward; ++n) {
    PARTITA_CHECK(own.graph.nodes[n].op == whole.graph.nodes.at(n).op, "node {} of the forward changed", n);
    partial.cuts[n] = completed.cuts[n];
  }
  const Axes tensor = block_axes(mesh, plan.blocks).tensor;
  const CutSearch search{
      .kind = plan.search, .costs = plan.costs(one_axis(mesh, tensor)), .squeeze = plan.blocks.squeeze};
  return search_tensor_cuts(nodes(own), mesh, tensor, search, std::move(partial));
}

/// Returns the plan of a training: completed from `cuts`, or that of `own_plan`, or as `plan` says. Throws
/// InvalidArgument if the network cannot be cut so, and what `own_plan` throws.
Plan TrainingLowering::plan_of(const Training& training, const LoweringOptions& options) {
  const Graph& graph = training.graph;
  const Rules& rules = training.rules;
  if (options.own_plan) return options.own_plan(graph, options.ranks);
  const Mesh mesh = make_mesh(graph, options.ranks, options.plan);
  if (options.cuts == nullptr) return make_plan(graph, rules, table_.ops(), mesh, options.plan);
  return complete_plan(graph, rules, mesh, std::string(name_of(options.plan.search)), *options.cuts);
}

LocalGraph TrainingLowering::lower(const LoweringOptions& options) {
  const int64_t micro_batches = options.plan.micro_batches;
  Training& own = training(options.recompute);
  auto& [graph, rules, micro_cuts, nodes] = own;
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
