#pragma once
// What a search over a graph has decided so far, and the shardings that follow from it.

#include "compiler/plan/complete_plan.h"
#include "compiler/search/candidate_cuts.h"
#include "ir/graph/rules.h"

namespace partita {

class KnownShardings {
 public:
  /// The graph, the rules and the mesh outlive this. The cuts of `partial` are to be entered still.
  KnownShardings(const Graph& graph, const Rules& rules, const Mesh& mesh, PartialPlan partial);

  const Graph& graph() const { return graph_; }
  const Rules& rules() const { return rules_; }
  const Mesh& mesh() const { return mesh_; }
  const PartialPlan& partial() const { return partial_; }
  PartialPlan take_partial() { return std::move(partial_); }
  const std::vector<NodeId>& users(ValueId value) const { return users_[value]; }

  bool is_forward(size_t node) const { return graph_.nodes[node].phase == Phase::forward; }
  /// A forward node with a cut; gradients follow their forward nodes.
  bool is_decided(size_t node) const { return is_forward(node) && partial_.cuts[node].has_value(); }
  /// Decides a node: its results lie as the cut leaves them, states without a sharding as it needs them.
  void enter(size_t node, const Cut& cut);

  /// As a value is made or kept; none when nothing says so yet.
  const std::optional<Sharding>& sharding(ValueId value) const { return known_[value]; }
  /// The state that a value is at entry, or -1.
  int state(ValueId value) const { return state_[value]; }
  /// A state whose sharding was given from the start.
  bool is_pinned(ValueId value) const { return state_[value] >= 0 && partial_.states[state_[value]].has_value(); }
  /// How the operands of a node lie: those that are not known yet as the cut needs them.
  std::vector<Sharding> operands(size_t node, const Cut& cut) const;
  /// How a decided node needs an operand.
  Sharding need_of(size_t user, ValueId value) const;
  /// The operands and results of a node whose shardings are known, or asked for by decided users.
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
