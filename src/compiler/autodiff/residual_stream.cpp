#include "compiler/autodiff/residual_stream.h"

#include <algorithm>
#include <unordered_map>

namespace partita {
namespace {

class Stream {
 public:
  Stream(const Graph& graph, const OpSet& ops, const std::function<bool(const Node&)>& is_outside)
      : graph_(graph),
        ops_(ops),
        is_outside_(is_outside),
        is_activation_(graph.values.size(), false),
        is_after_sum_(graph.values.size(), false),
        is_operand_(graph.values.size(), false),
        is_stream_(graph.values.size(), false) {}

  std::vector<bool> run() {
    for (const Node& node : graph_.nodes) {
      if (node.phase == Phase::forward && !is_outside_(node)) visit_forward(node);
    }
    for (size_t n = graph_.nodes.size(); n-- > 0;) {
      const Node& node = graph_.nodes[n];
      if (node.phase == Phase::forward && !is_outside_(node)) find_way(node);
    }
    for (const Node& node : graph_.nodes) {
      if (node.phase == Phase::forward) forward_.emplace(node.name, &node);
      if (node.phase == Phase::backward && !is_outside_(node)) visit_backward(node);
    }
    return is_stream_;
  }

 private:
  bool is_sum(const Node& node) const {
    return ops_.at(node.op).traits.is_sum && node.inputs.size() == 2 &&
           graph_.type(node.inputs[0]) == graph_.type(node.inputs[1]);
  }

  /// Whether the node adds two activations.
  bool is_residual(const Node& node) const {
    return is_sum(node) && is_activation_[node.inputs[0]] && is_activation_[node.inputs[1]];
  }

  void visit_forward(const Node& node) {
    const Halves& halves = ops_.at(node.op).traits.halves;
    const bool follows = halves.follow && any_marked(node.inputs, is_activation_);
    const bool is_residual_sum = is_residual(node);
    for (size_t k = 0; k < node.outputs.size() && k < static_cast<size_t>(halves.results); ++k) {
      is_activation_[node.outputs[k]] = follows || !halves.follow;
      is_after_sum_[node.outputs[k]] = is_residual_sum || (follows && any_marked(node.inputs, is_after_sum_));
      is_stream_[node.outputs[k]] = is_residual_sum;
    }
  }

  /// Marks what leads to a sum: its operands, and activations from which operators that are no products make them.
  void find_way(const Node& node) {
    const bool leads = ops_.at(node.op).traits.halves.follow && any_marked(node.outputs, is_operand_);
    if (!is_residual(node) && !leads) return;
    for (const ValueId output : node.outputs) {
      is_stream_[output] = is_stream_[output] || (is_after_sum_[output] && is_operand_[output]);
    }
    for (const ValueId input : node.inputs) is_operand_[input] = is_operand_[input] || is_activation_[input];
  }

  const Node* forward_of(const Node& node) const {
    const auto found = forward_.find(node.origin);
    return found == forward_.end() ? nullptr : found->second;
  }

  /// Whether a gradient is a part of the gradient of a value of the stream or of one that leads to it: what a user of
  /// such a value sends back, or a sum of such parts.
  bool is_part(ValueId gradient) const {
    if (is_stream_[gradient]) return true;
    const NodeId producer = graph_.values[gradient].producer;
    const Node* user = producer < 0 ? nullptr : forward_of(graph_.nodes[producer]);
    if (user == nullptr) return false;
    return std::ranges::any_of(user->inputs, [&](ValueId value) {
      return (is_stream_[value] || is_operand_[value]) && graph_.type(value) == graph_.type(gradient);
    });
  }

  void visit_backward(const Node& node) {
    if (node.origin.empty()) {
      if (is_sum(node) && (is_part(node.inputs[0]) || is_part(node.inputs[1]))) is_stream_[node.outputs[0]] = true;
      return;
    }
    const Node* forward = forward_of(node);
    const Halves& halves = ops_.at(node.op).traits.halves;
    if (forward == nullptr || is_residual(*forward)) return;
    const bool is_on_way = halves.follow && any_marked(forward->outputs, is_stream_);
    for (size_t k = 0; k < node.outputs.size() && k < static_cast<size_t>(halves.results); ++k) {
      const ValueId made = node.outputs[k];
      const bool is_gradient = std::ranges::any_of(
          forward->inputs, [&](ValueId value) { return is_stream_[value] && graph_.type(value) == graph_.type(made); });
      is_stream_[made] = is_on_way || is_gradient;
    }
  }

  const Graph& graph_;
  const OpSet& ops_;
  const std::function<bool(const Node&)>& is_outside_;
  std::vector<bool> is_activation_;  // per value: follows from a product
  std::vector<bool> is_after_sum_;   // per value: a residual sum, or follows from one without a product
  std::vector<bool> is_operand_;     // per value: leads to a residual sum without a product
  std::vector<bool> is_stream_;      // per value
  std::unordered_map<std::string, const Node*> forward_;
};

}  // namespace

std::vector<bool> residual_stream(const Graph& graph, const OpSet& ops,
                                  const std::function<bool(const Node&)>& is_outside) {
  return Stream(graph, ops, is_outside).run();
}

}  // namespace partita
