#pragma once
// The decisions that a search makes about a graph on a mesh, and what they cost: the cuts of its forward nodes, how
// values lie that several nodes use, and how states lie that several nodes use.

#include "compiler/search/cost_problem.h"
#include "compiler/search/node_alternatives.h"

namespace partita {

/// How a value lies that several nodes use, and the sum of its gradients; -1: none.
struct ValueAlternative {
  ShardingId value = -1, gradient = -1;
};

/// What a variable of the problem decides.
struct Decision {
  enum class Kind { node, value, state } kind = Kind::node;
  size_t index = 0;  // of the node, the value or the state in the graph
};

struct CostGraph {
  CostGraph(const Graph& graph, const Rules& rules, const Mesh& mesh, PartialPlan pinned, const PlanCosts& costs);

  /// The decisions of a search, to be completed.
  PartialPlan partial_plan(const std::vector<size_t>& chosen) const;
  const Sharding& sharding(ShardingId id) const { return reshards->sharding(id); }

  const Graph* graph;
  const Rules* rules;
  const Mesh* mesh;
  PartialPlan pinned;
  std::unique_ptr<ReshardCosts> reshards;
  CostProblem problem;
  std::vector<Decision> decisions;                                           // per variable of the problem
  std::vector<NodeAlternatives> nodes;                                       // per variable: of a node
  std::vector<std::shared_ptr<const std::vector<ValueAlternative>>> values;  // per variable: of a value or a state
  std::vector<int> own_state;                                                // per value: the state that one node uses
  std::vector<std::vector<size_t>> sums;                                     // per variable: of gradients
  std::vector<int> variable_of_node, variable_of_value;                      // -1: none

 private:
  std::optional<Sharding> made(ValueId value, const std::vector<size_t>& chosen) const;
  void cut_sums(size_t variable, const std::vector<size_t>& chosen, PartialPlan& partial) const;
  void keep_whole(size_t variable, const std::vector<size_t>& chosen, PartialPlan& partial) const;
};

/// All legal cuts of every forward node for which `pinned` has none, which are hard constraints as are its inputs and
/// states. A graph with gradients pays for them: gradient nodes follow their forward nodes, gradients move as values
/// do, those of parameters are reduced over the ranks that share these. The arguments outlive the result.
CostGraph make_cost_graph(const ForwardNodes& nodes, const Mesh& mesh, PartialPlan pinned,
                          const CostGraphOptions& options);

}  // namespace partita
