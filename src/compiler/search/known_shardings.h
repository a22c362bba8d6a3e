#pragma once
// Decisions of a search over a graph so far, and the shardings that follow from them.

#include "compiler/plan/complete_plan.h"
#include "compiler/search/candidate_cuts.h"
#include "ir/graph/rules.h"

namespace partita {

class KnownShardings {
 public:
  /// The graph, the rules and the mesh must outlive this object. Cuts in `partial` take effect only through `enter`.
  KnownShardings(const Graph& graph, const Rules& rules, const Mesh& mesh, PartialPlan partial);

  const Graph& graph() const { return graph_; }
  const Rules& rules() const { return rules_; }
  const Mesh& mesh() const { return mesh_; }
  const PartialPlan& partial() const { return partial_; }
  PartialPlan take_partial() { return std::move(partial_); }
  const std::vector<NodeId>& users(ValueId value) const { return users_[value]; }

  bool is_forward(size_t node) const { return graph_.nodes[node].phase == Phase::forward; }
  /// Whether a node is a forward node with a cut; gradient nodes follow their forward nodes.
  bool is_decided(size_t node) const { return is_forward(node) && partial_.cuts[node].has_value(); }
  /// Decides the cut of a node. Its results get the shardings that the cut produces, or those in `partial().results`;
  /// states among its operands that have no sharding yet get the one that it needs.
  void enter(size_t node, const Cut& cut);

  /// Sharding of a value as it is made or kept; none if nothing determines it yet.
  const std::optional<Sharding>& sharding(ValueId value) const { return known_[value]; }
  /// Index of the state that a value is at entry, or -1.
  int state(ValueId value) const { return state_[value]; }
  /// Whether a value is a state whose sharding was given from the start.
  bool is_pinned(ValueId value) const { return state_[value] >= 0 && partial_.states[state_[value]].has_value(); }
  /// Returns the shardings of a node's operands; those not known yet are as the cut needs them.
  std::vector<Sharding> operands(size_t node, const Cut& cut) const;
  /// Returns the sharding in which `user`, a decided node, needs its operand `value`.
  Sharding required_sharding(size_t user, ValueId value) const;
  /// Returns a suggestion for each operand of a node whose sharding is known, then one for each decided user of each of
  /// its results: the sharding that this user needs.
  std::vector<Suggestion> neighbours_of(size_t node) const;

 private:
  const Graph& graph_;
  const Rules& rules_;
  const Mesh& mesh_;
  PartialPlan partial_;
  std::vector<std::vector<NodeId>> users_;
  std::vector<std::optional<Sharding>> known_;  // per value
  std::vector<int> state_;                      // per value
};

}  // namespace partita
