#pragma once
// Lowers the training of a network to the program of a rank, repeatedly with different cuts.

#include <memory>

#include "compiler/autodiff/training_graph.h"
#include "compiler/partition/local_graph.h"
#include "compiler/plan/micro_cuts.h"
#include "compiler/search/make_plan.h"

namespace partita {

/// How a training is lowered.
struct LoweringOptions {
  int64_t ranks = 1;  // ranks that share the same rows of a batch
  PlanOptions plan = {};
  /// Makes the plan of the training graph on the `ranks` that share the same rows, instead of `plan`; null: `plan`
  /// does.
  std::function<Plan(const Graph&, int64_t ranks)> own_plan = nullptr;
  Recompute recompute = Recompute::none;
  /// Decisions from which the plan is completed (TrainingLowering::searched_cuts); null: `own_plan` or `plan` decides.
  const PartialPlan* cuts = nullptr;
};

/// Runs the stages of the compiler (compiler/compile.h) from a forward graph to the program of a rank. Results that do
/// not depend on cuts are cached: training graphs, the rules of their nodes, and how micro-batches cut them.
class TrainingLowering {
 public:
  /// All arguments must outlive this object.
  TrainingLowering(const Graph& forward, const OpSet& ops, const TrainingOptions& training)
      : forward_(forward), training_(training), table_(ops) {}

  /// Returns the decisions of a search for cuts on the training without recomputation. `plan.blocks.searched` must be
  /// set. Throws InvalidArgument if the network cannot be cut so.
  PartialPlan searched_cuts(int64_t ranks, const PlanOptions& plan);
  /// Returns these decisions for the training with recomputation, which has the same cuts of forward nodes as `kept`,
  /// the decisions for the one without. So recomputation only adds to the costs of a layer. Throws InvalidArgument if
  /// the policy finds nothing to recompute.
  PartialPlan recomputed_cuts(Recompute recompute, int64_t ranks, const PlanOptions& plan, const PartialPlan& kept);
  /// Lowers the training to the program of a rank. Throws InvalidArgument if the network cannot be cut so or the policy
  /// finds nothing to recompute, and what `own_plan` throws.
  LocalGraph lower(const LoweringOptions& options);
  /// The rules of all nodes that were lowered so far.
  RuleTable& rules() { return table_; }

 private:
  struct Training {
    Graph graph;
    Rules rules;
    std::map<int64_t, MicroCuts> micro_cuts;      // by number of micro-batches
    std::unique_ptr<const ForwardNodes> nodes{};  // for searches; null: not needed yet
  };
  const ForwardNodes& nodes(Training& training);
  Training& training(Recompute recompute);
  Plan plan_of(const Training& training, const LoweringOptions& options);

  const Graph& forward_;
  const TrainingOptions& training_;
  RuleTable table_;
  std::map<Recompute, Training> trainings_;
};

}  // namespace partita
