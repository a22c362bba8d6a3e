#pragma once
// The training of a network as the program of a rank, for one way to cut it after another.

#include <optional>

#include "compiler/autodiff/training_graph.h"
#include "compiler/partition/local_graph.h"
#include "compiler/plan/micro_cuts.h"
#include "compiler/search/make_plan.h"

namespace partita {

/// How a training is lowered.
struct LoweringOptions {
  int64_t ranks = 1;  // that share one copy of a batch's rows
  PlanOptions plan = {};
  /// A plan of one's own for the graph that is run, instead of the one that `plan` asks for.
  std::function<Plan(const Graph&, int64_t ranks)> own_plan = nullptr;
  Recompute recompute = Recompute::none;
};

/// Runs the stages of the flow (compiler/compile.h) from a forward graph to the program of a rank. What no cut changes
/// is made once: training graphs, the rules of their nodes, and how micro-batches cut them.
class TrainingLowering {
 public:
  /// What it is made from outlives it.
  TrainingLowering(const Graph& forward, const OpSet& ops, const TrainingOptions& training)
      : forward_(forward), training_(training), table_(ops) {}

  /// Throws InvalidArgument where the network cannot be cut so.
  LocalGraph lower(const LoweringOptions& options);
  /// Of whatever was lowered.
  RuleTable& rules() { return table_; }

 private:
  struct Training {
    Graph graph;
    Rules rules;
    std::map<int64_t, MicroCuts> micro_cuts;  // by how many micro-batches there are
  };
  Training& training(Recompute recompute, bool in_micro_batches);
  Plan plan_of(const Training& training, const LoweringOptions& options);

  const Graph& forward_;
  const TrainingOptions& training_;
  RuleTable table_;
  std::map<std::pair<Recompute, bool>, Training> trainings_;  // with whether it runs in micro-batches
};

}  // namespace partita
