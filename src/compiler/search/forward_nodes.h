#pragma once
// Forward nodes of a graph as a search sees them, independent of the mesh: users of values, and gradients.

#include "compiler/search/node_price.h"

namespace partita {

/// A use of a value: the node, and the index of the operand.
struct Use {
  size_t node;
  size_t operand;
};

class ForwardNodes {
 public:
  /// The arguments must outlive this object. `traced`: whether the programs keep what their prices consist of
  /// (`NodeProgram::trace`), for several searches that differ in costs.
  ForwardNodes(const Graph& graph, const Rules& rules, const OpSet& ops, bool traced = false);

  const Graph& graph() const { return graph_; }
  const Rules& rules() const { return rules_; }
  bool is_forward(size_t node) const { return graph_.nodes[node].phase == Phase::forward; }
  /// A node with its gradient nodes, shared by nodes that are alike. `node` must be a forward node.
  const NodeProgram& program(size_t node) const { return *programs_[node]; }

  const std::vector<Use>& uses(ValueId value) const { return uses_[value]; }
  /// Index of the state that a value is at entry (`state`) or at exit (`stored`), or of the input that it is; -1: none.
  int state(ValueId value) const { return state_[value]; }
  int stored(ValueId value) const { return stored_[value]; }
  int input(ValueId value) const { return input_[value]; }
  bool is_trained(const State& state) const {
    return trains_ && state.kind == StateKind::parameter && state.requires_grad && state.exit >= 0;
  }
  /// Indices of the nodes that sum the gradients of a value, in the order in which they add, as far as they are found.
  const std::vector<size_t>& sums(ValueId value) const { return sums_[value]; }
  /// Number of states of a state's shape that the optimizer keeps for it; 0 if none. Others, such as one number per
  /// row, hardly count.
  int64_t optimizer_states(const State& state) const;

 private:
  void index();
  void find_gradients();
  void find_sums();
  ValueId given_by(size_t node, size_t operand, const std::vector<size_t>& backward,
                   const std::vector<ValueId>& gradients) const;
  const NodeProgram* program_of(size_t node, const NodeGradients& gradients);

  const Graph& graph_;
  const Rules& rules_;
  const OpSet& ops_;
  const bool traced_;
  bool trains_ = false;                      // whether the graph has gradients
  std::vector<std::vector<Use>> uses_;       // per value: by forward nodes
  std::vector<int> state_, stored_, input_;  // per value
  std::unordered_map<std::string, int> copies_;
  std::unordered_map<std::string, int64_t> optimizer_states_;
  std::unordered_map<std::string, std::unique_ptr<NodeProgram>> program_cache_;
  std::vector<const NodeProgram*> programs_;  // per node
  std::vector<std::vector<size_t>> sums_;     // per value
};

}  // namespace partita
