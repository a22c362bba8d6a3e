#pragma once
// All ways in which the forward nodes of a graph can be cut on a mesh, with what each costs and asks of its neighbours.

#include <set>

#include "compiler/plan/complete_plan.h"
#include "compiler/search/forward_nodes.h"

namespace partita {

struct CostGraphOptions {
  PlanCosts costs;
  bool uneven = true;  // parts may differ by one
  /// Per node, the cuts to compare; none: all legal ones.
  std::vector<std::vector<Cut>> candidates{};
};

/// One alternative of a forward node: a cut, and how everything lies that it shares with others.
struct NodeAlternative {
  Cut cut;
  std::vector<ShardingId> needs, gives;  // per operand: it and its gradient; -1: none
  std::vector<ShardingId> makes, wants;  // per result: it and its gradient; -1: none
  double seconds = 0, bytes = 0;
};
using NodeAlternatives = std::shared_ptr<const std::vector<NodeAlternative>>;

/// Per node, null for nodes that are not forward; nodes that are alike share theirs. What an operand costs that is an
/// input, or a state of which the node is the one user, is in the costs of the node. `pinned` outlives the call.
std::vector<NodeAlternatives> node_alternatives(const ForwardNodes& nodes, const Mesh& mesh, const PartialPlan& pinned,
                                                const CostGraphOptions& options, ReshardCosts& reshards);

/// Seconds of the update of a state that lies so, and bytes that it takes with its gradient and what the optimizer
/// keeps for it.
struct StateCosts {
  double seconds = 0, bytes = 0;
};
StateCosts state_costs(const ForwardNodes& nodes, size_t state, const std::vector<Axes>& dims, const PlanCosts& costs,
                       const Mesh& mesh);

/// All about a value at entry that the costs of its users depend on, as a part of a key.
void add_entry_key(std::string& key, const ForwardNodes& nodes, ValueId value, const PartialPlan& pinned);

}  // namespace partita
