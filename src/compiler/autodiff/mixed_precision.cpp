#include "compiler/autodiff/mixed_precision.h"

#include <algorithm>
#include <unordered_map>

#include "compiler/autodiff/roundings.h"
#include "ir/graph/rewrite.h"
#include "ir/ops/elementwise/attrs.h"

namespace partita {
namespace {

class Mixer {
 public:
  Mixer(const Graph& from, const OpSet& ops, const PrecisionOptions& options)
      : from_(from),
        roundings_(from, ops, options),
        rewrite_(from, ops),
        copies_(from.values.size()),
        is_state_(from.values.size(), false) {
    for (const State& state : from.states) is_state_[state.entry] = true;
  }

  Graph run() {
    for (const Node& node : from_.nodes) visit(node);
    for (const Output& output : from_.outputs) {
      if (!roundings_.is_rounded(output.value)) continue;
      enter(from_.nodes[from_.values[output.value].producer]);
      rewrite_.set(output.value, widened(rewrite_[output.value], from_.type(output.value).dtype));
    }
    return rewrite_.finish();
  }

 private:
  /// Gives the nodes that are added next the place of `node`.
  void enter(const Node& node) {
    Builder& builder = rewrite_.builder();
    builder.scope = node.scope;
    builder.source = node.source;
    builder.phase = node.phase;
    builder.stage = node.stage;
    builder.recompute = node.recompute;
    builder.origin.clear();
  }

  /// Adds a node that rounds `value` to the digits of `half`. Returns its result, which is f64 if `value` is, else has
  /// the type `half`.
  Value rounded(Value value, DType half) {
    Builder& builder = rewrite_.builder();
    if (value.dtype() == DType::f64) return builder.apply("round", {value}, Attrs(RoundAttrs{half}));
    return builder.apply("cast", {value}, Attrs(CastAttrs{half}));
  }

  /// Returns `made` in type `own`: itself if it has it, else a cast.
  Value widened(Value made, DType own) {
    return made.dtype() == own ? made : rewrite_.builder().apply("cast", {made}, Attrs(CastAttrs{own}));
  }

  /// Whether `node` uses the rounded copy of the value.
  bool uses_copy(ValueId value, const Node& node) const {
    return roundings_.is_copied(value) && node.phase != Phase::forward;
  }

  /// Returns the value for `node`, in its own type. The cast from 16 bits is made anew for each user, since it is not
  /// kept.
  Value full(ValueId value, const Node& node) {
    return widened(uses_copy(value, node) ? copies_[value] : rewrite_[value], from_.type(value).dtype);
  }

  /// Returns the value with the digits of 16 bits that `node` has, in its own type. A forward node and its gradients
  /// share the rounding of an operand, and all nodes that of a state, so that a tied table is sent or gathered once.
  Value half(ValueId value, const Node& node) {
    const DType dtype = *roundings_.half_of(node);
    const bool is_half = roundings_.is_rounded(value) || uses_copy(value, node);
    if (is_half && roundings_.half_of(from_.nodes[from_.values[value].producer]) == dtype) return full(value, node);
    const std::string user = node.origin.empty() ? node.name : node.origin;
    Value& shared = shared_[is_state_[value] ? std::string(name_of(dtype)) : user][value];
    if (!shared) shared = rounded(full(value, node), dtype);
    return widened(shared, from_.type(value).dtype);
  }

  void visit(const Node& node) {
    enter(node);
    const std::vector<int> listed = roundings_.halves_of(node).operands;
    std::vector<Value> operands;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId input = node.inputs[i];
      const bool rounds = std::ranges::find(listed, static_cast<int>(i)) != listed.end();
      operands.push_back(rounds && roundings_.can_round(input) ? half(input, node) : full(input, node));
    }
    std::vector<Value> results = rewrite_.builder().copy_node(from_, node, operands);
    for (size_t k = 0; k < results.size(); ++k) {
      const ValueId output = node.outputs[k];
      if (roundings_.is_copied(output)) copies_[output] = rounded(results[k], *roundings_.half_of(node));
      if (roundings_.is_rounded(output)) results[k] = rounded(results[k], *roundings_.half_of(node));
    }
    rewrite_.set(node, results);
  }

  const Graph& from_;
  const Roundings roundings_;
  Rewrite rewrite_;
  std::vector<Value> copies_;   // per value: its rounded copy, if it has one
  std::vector<bool> is_state_;  // per value
  /// Rounded values by their forward node or, if they are states, by their type.
  std::unordered_map<std::string, std::unordered_map<ValueId, Value>> shared_;
};

}  // namespace

Graph mixed_precision(Graph graph, const OpSet& ops, const PrecisionOptions& options) {
  if (!has_halves(options)) return graph;
  // Nodes that nothing needs are no users of a value. A training has lost them before.
  graph = remove_dead_nodes(std::move(graph));
  return remove_dead_nodes(Mixer(graph, ops, options).run());
}

void require_precise_layers(const Graph& training, const OpSet& ops, const PrecisionOptions& options) {
  if (!has_halves(options)) return;
  const Graph graph = remove_dead_nodes(training);
  Roundings(graph, ops, options).require_layers();
}

}  // namespace partita
