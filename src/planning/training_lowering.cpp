#include "planning/training_lowering.h"

#include "lowering/cut_micro_batches.h"
#include "partition/partition.h"

namespace partita {

TrainingLowering::Training& TrainingLowering::training(Recompute recompute, bool in_micro_batches) {
  const auto known = trainings_.find({recompute, in_micro_batches});
  if (known != trainings_.end()) return known->second;
  TrainingOptions options = training_;
  options.recompute = recompute;
  Graph graph = make_training_graph(forward_, table_.ops(), options).graph;
  if (in_micro_batches) graph = with_scalar_outputs(std::move(graph));
  Rules rules(graph, table_);
  const std::pair key(recompute, in_micro_batches);
  return trainings_.emplace(key, Training{std::move(graph), std::move(rules), {}}).first->second;
}

LocalGraph TrainingLowering::lower(const LoweringOptions& options) {
  const int64_t micro_batches = options.plan.micro_batches;
  auto& [graph, rules, micro_cuts] = training(options.recompute, micro_batches > 1);
  const OpSet& ops = table_.ops();
  Plan plan = options.own_plan
                  ? options.own_plan(graph, options.ranks)
                  : make_plan(graph, rules, ops, make_mesh(graph, options.ranks, options.plan), options.plan);
  if (micro_batches > 1) {
    auto cuts = micro_cuts.find(micro_batches);
    if (cuts == micro_cuts.end()) {
      cuts = micro_cuts.emplace(micro_batches, find_micro_cuts(graph, rules, micro_batches)).first;
    }
    plan = cut_micro_batches(std::move(plan), graph, rules, cuts->second);
  }
  if (options.own_plan) verify(plan, graph, ops);
  return partition(insert_reshards(graph, table_, plan));
}

}  // namespace partita
