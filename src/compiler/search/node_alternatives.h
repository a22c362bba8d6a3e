#pragma once
// All cuts of the forward nodes of a graph on a mesh, with their costs and the shardings that they need.

#include "compiler/plan/complete_plan.h"
#include "compiler/search/forward_nodes.h"

namespace partita {

struct CostGraphOptions {
  PlanCosts costs;
  bool uneven = true;  // whether parts may differ by one
  /// Per node: the cuts to compare; empty: all legal ones.
  std::vector<std::vector<Cut>> candidates{};
};

/// One alternative of a forward node: a cut, and the shardings of everything that it shares with other nodes.
struct NodeAlternative {
  Cut cut;
  std::vector<ShardingId> needs, gives;  // per operand: sharding needed, and that of its gradient; -1: none
  std::vector<ShardingId> makes, wants;  // per result: sharding made, and that of its gradient as wanted; -1: none
  double seconds = 0, bytes = 0;
};
using NodeAlternatives = std::shared_ptr<const std::vector<NodeAlternative>>;

/// Returns the alternatives of each node, null for nodes that are not forward; nodes that are alike share theirs. The
/// costs of a node include those of operands that are inputs, and of states that only this node uses. `pinned` must
/// outlive the call.
std::vector<NodeAlternatives> node_alternatives(const ForwardNodes& nodes, const Mesh& mesh, const PartialPlan& pinned,
                                                const CostGraphOptions& options, ReshardCosts& reshards);

/// Costs of a state with a given sharding: seconds of its update, and bytes of the state, its gradient and its
/// optimizer states on a rank. A state that is not trained costs only its own bytes.
struct StateCosts {
  double seconds = 0, bytes = 0;
};
StateCosts state_costs(const ForwardNodes& nodes, size_t state, const std::vector<Axes>& dims, const PlanCosts& costs,
                       const Mesh& mesh);

/// Appends to `key` what the costs of a value's users depend on: whether several nodes use it, for an input its
/// sharding, for a state whether it is trained, its number of optimizer states and its sharding if `pinned` has one.
void add_entry_key(std::string& key, const ForwardNodes& nodes, ValueId value, const PartialPlan& pinned);

}  // namespace partita
