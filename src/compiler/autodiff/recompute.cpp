#include "compiler/autodiff/recompute.h"

#include <algorithm>
#include <unordered_map>

#include "ir/graph/rewrite.h"

namespace partita {
namespace {

/// Returns the beginning of a scope that ends with its first part of digits only: "net/h/3" for "net/h/3/attn/q". "" if
/// there is no such part.
std::string block_of(const std::string& scope) {
  for (size_t begin = 0; begin < scope.size();) {
    const size_t end = std::min(scope.find('/', begin), scope.size());
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    if (end > begin && std::all_of(scope.begin() + static_cast<std::ptrdiff_t>(begin),
                                   scope.begin() + static_cast<std::ptrdiff_t>(end), is_digit)) {
      return scope.substr(0, end);
    }
    begin = end + 1;
  }
  return "";
}

class Recomputer {
 public:
  Recomputer(const Graph& from, const OpSet& ops)
      : from_(from), ops_(ops), rewrite_(from, ops), recomputed_(from.values.size()) {
    find_dropped();
  }

  Graph run() {
    for (const Node& node : from_.nodes) {
      std::vector<Value> operands = rewrite_[node.inputs];
      for (size_t i = 0; i < operands.size() && node.phase == Phase::backward; ++i) {
        if (dropped_[node.inputs[i]]) operands[i] = recomputed(node.inputs[i]);
      }
      rewrite_.set(node, rewrite_.builder().copy_node(from_, node, operands));
    }
    return rewrite_.finish();
  }

 private:
  const Node* chosen(ValueId value) const {
    const NodeId producer = from_.values[value].producer;
    if (producer < 0) return nullptr;
    const Node& node = from_.nodes[producer];
    return node.phase == Phase::forward && !node.recompute.empty() ? &node : nullptr;
  }

  /// Sets `dropped_`: whether the backward pass recomputes a value. True for results of marked forward nodes, except
  /// for outputs, stored states, in a group of several nodes besides conversions values that a forward node outside the
  /// group uses, and conversions of kept values to fewer bits.
  void find_dropped() {
    std::unordered_map<std::string, int> sizes;
    for (const Node& node : from_.nodes) {
      const bool counts = node.phase == Phase::forward && !node.recompute.empty();
      if (counts && !ops_.at(node.op).traits.is_conversion) ++sizes[node.recompute];
    }
    dropped_.resize(from_.values.size(), false);
    for (size_t v = 0; v < dropped_.size(); ++v) dropped_[v] = chosen(static_cast<ValueId>(v)) != nullptr;
    for (const Node& node : from_.nodes) {
      if (node.phase != Phase::forward) continue;
      for (const ValueId input : node.inputs) {
        const Node* producer = chosen(input);
        if (producer && producer->recompute != node.recompute && sizes[producer->recompute] > 1) {
          dropped_[input] = false;
        }
      }
    }
    for (const Output& output : from_.outputs) dropped_[output.value] = false;
    for (const State& state : from_.states) {
      if (state.exit >= 0) dropped_[state.exit] = false;
    }
    keep_narrowed();
  }

  /// Keeps the result of a conversion to fewer bits if its operand, a result of a marked node, is kept and goes only to
  /// conversions and to forward nodes that are not recomputed: the backward pass would keep the operand in its place.
  void keep_narrowed() {
    const std::vector<std::vector<NodeId>> users = from_.users();
    for (const Node& node : from_.nodes) {
      if (!ops_.at(node.op).traits.is_conversion || chosen(node.outputs[0]) == nullptr) continue;
      const ValueId operand = node.inputs[0], result = node.outputs[0];
      const bool narrows = from_.type(result).bytes() < from_.type(operand).bytes();
      if (!narrows || chosen(operand) == nullptr || dropped_[operand]) continue;
      const bool is_needed = std::ranges::any_of(users[operand], [&](NodeId user) {
        const Node& one = from_.nodes[user];
        return one.phase != Phase::forward || (!one.recompute.empty() && !ops_.at(one.op).traits.is_conversion);
      });
      if (!is_needed) dropped_[result] = false;
    }
  }

  /// Returns the recomputed copy of a dropped value. The first call for a value appends a copy of its node to the new
  /// graph, as a backward node, after copies of the nodes of dropped operands that have none yet.
  Value recomputed(ValueId value) {
    if (recomputed_[value]) return recomputed_[value];
    // Operands first. An explicit stack, since a block may be thousands of nodes deep.
    std::vector<ValueId> open{value};
    while (!open.empty()) {
      const ValueId next = open.back();
      const Node& node = from_.nodes[from_.values[next].producer];
      const size_t before = open.size();
      for (const ValueId input : node.inputs) {
        if (dropped_[input] && !recomputed_[input]) open.push_back(input);
      }
      if (open.size() > before) continue;
      open.pop_back();
      if (!recomputed_[next]) copy(node);
    }
    return recomputed_[value];
  }

  void copy(const Node& node) {
    std::vector<Value> operands = rewrite_[node.inputs];
    for (size_t i = 0; i < operands.size(); ++i) {
      if (dropped_[node.inputs[i]]) operands[i] = recomputed_[node.inputs[i]];
    }
    Builder& builder = rewrite_.builder();
    builder.phase = Phase::backward;
    builder.scope = node.scope;
    builder.source = node.source;
    builder.origin = node.name;
    builder.recompute = node.recompute;
    const std::vector<Value> results = builder.apply_all(node.op, operands, node.attrs);
    for (size_t k = 0; k < results.size(); ++k) recomputed_[node.outputs[k]] = results[k];
  }

  const Graph& from_;
  const OpSet& ops_;
  Rewrite rewrite_;
  std::vector<Value> recomputed_;  // per value: its recomputed copy, or empty
  std::vector<bool> dropped_;      // per value: whether the backward pass recomputes it
};

}  // namespace

std::string recomputed_group(const Node& node, Recompute policy, const OpSet& ops) {
  switch (policy) {
    case Recompute::none: return "";
    case Recompute::selective: return ops.at(node.op).traits.is_selected_for_recompute ? node.name : "";
    case Recompute::full: return block_of(node.scope);
  }
  return "";
}

void choose_recomputed(Graph& forward, Recompute policy, const OpSet& ops) {
  if (policy == Recompute::none) return;
  bool any = false;
  for (Node& node : forward.nodes) {
    const std::string group = recomputed_group(node, policy, ops);
    if (group.empty()) continue;
    any = true;
    if (node.recompute.empty()) node.recompute = group;
  }
  if (any) return;
  throw InvalidArgument("[--recompute] nothing to recompute in graph {}, got {}, expected none: it has no {}",
                        forward.name, name_of(policy),
                        policy == Recompute::full ? "blocks in numbered scopes" : "attention");
}

Graph recompute_in_backward(Graph training, const OpSet& ops) {
  const bool any = std::ranges::any_of(training.nodes, [](const Node& node) { return !node.recompute.empty(); });
  if (!any) return training;
  return remove_dead_nodes(Recomputer(training, ops).run());
}

}  // namespace partita
