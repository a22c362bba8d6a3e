#pragma once
// Decisions of a search about a graph on a mesh, and their costs: the cuts of forward nodes, and the shardings of
// values and states that several nodes use.

#include "compiler/search/cost_problem.h"
#include "compiler/search/node_alternatives.h"

namespace partita {

/// Shardings of a value that several nodes use and of the sum of its gradients; -1: no gradient.
struct ValueAlternative {
  ShardingId value = -1, gradient = -1;
};

/// The decision that a variable of the problem stands for.
struct Decision {
  enum class Kind { node, value, state } kind = Kind::node;
  size_t index = 0;  // index of the node, value or state in the graph
};

struct CostGraph {
  CostGraph(const Graph& graph, const Rules& rules, const Mesh& mesh, PartialPlan pinned, const PlanCosts& costs);

  /// Returns the decisions of `pinned` and `chosen` (an alternative per variable), for `complete_plan`.
  PartialPlan partial_plan(const std::vector<size_t>& chosen) const;
  const Sharding& sharding(ShardingId id) const { return reshards->sharding(id); }

  const Graph* graph;
  const Rules* rules;
  const Mesh* mesh;
  PartialPlan pinned;
  std::unique_ptr<ReshardCosts> reshards;
  CostProblem problem;
  std::vector<Decision> decisions;                                           // per variable of the problem
  std::vector<NodeAlternatives> nodes;                                       // per variable of a node; else null
  std::vector<std::shared_ptr<const std::vector<ValueAlternative>>> values;  // per variable of a value or state
  std::vector<int> own_state;                            // per value: the state that only one node uses, or -1
  std::vector<std::vector<size_t>> sums;                 // per variable: nodes that sum its gradients
  std::vector<int> variable_of_node, variable_of_value;  // per node, per value; -1: none

 private:
  std::optional<Sharding> made(ValueId value, const std::vector<size_t>& chosen) const;
  void cut_sums(size_t variable, const std::vector<size_t>& chosen, PartialPlan& partial) const;
  void keep_whole(size_t variable, const std::vector<size_t>& chosen, PartialPlan& partial) const;
};

/// Builds the cost graph. Its alternatives are all legal cuts (or `options.candidates`) of every forward node that
/// `pinned` leaves open; decisions of `pinned` are hard constraints.
/// A graph with gradients includes their costs: gradient nodes follow their forward nodes, gradients move as their
/// values do, and those of parameters are reduced over the ranks that share these. The arguments must outlive the
/// result.
CostGraph make_cost_graph(const ForwardNodes& nodes, const Mesh& mesh, PartialPlan pinned,
                          const CostGraphOptions& options);

}  // namespace partita
