#include "compiler/schedule/fold_casts.h"

#include <algorithm>

#include "compiler/partition/collectives.h"
#include "compiler/partition/sections.h"

namespace partita {
namespace {

bool is_half(const Type& type) { return is_half(type.dtype); }
bool is_wide(const Type& type) { return is_float(type.dtype) && !is_half(type); }

/// Whether a node converts between 16-bit and wider floats. Other ops compute in the type of their operands.
bool is_cast(const Graph& graph, const Node& node) {
  if (node.inputs.size() != 1 || node.outputs.size() != 1) return false;
  const Type &from = graph.type(node.inputs[0]), &to = graph.type(node.outputs[0]);
  return from.shape == to.shape && ((is_half(from) && is_wide(to)) || (is_wide(from) && is_half(to)));
}

/// The node that makes `value`, if it is a cast; else null.
const Node* cast_that_makes(const Graph& graph, ValueId value) {
  const NodeId producer = graph.values[value].producer;
  return producer >= 0 && is_cast(graph, graph.nodes[producer]) ? &graph.nodes[producer] : nullptr;
}

class Folder {
 public:
  Folder(const LocalGraph& local, const OpSet& ops, const KernelCatalog& catalog)
      : local_(local),
        graph_(local.graph),
        ops_(ops),
        kernels_(local, ops, catalog),
        sections_(sections_of(local)),
        users_(local.graph.users()),
        is_end_(local.graph.values.size(), false) {
    for (const Output& output : graph_.outputs) is_end_[output.value] = true;
    for (const State& state : graph_.states) {
      if (state.exit >= 0) is_end_[state.exit] = true;
    }
  }

  FoldedCasts run() {
    folded_.is_left_out.assign(graph_.nodes.size(), false);
    if (!has_halves()) return std::move(folded_);
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (!is_collective(graph_.nodes[n])) fold(static_cast<NodeId>(n));
    }
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (is_needless(static_cast<NodeId>(n))) folded_.is_left_out[n] = true;
    }
    return std::move(folded_);
  }

 private:
  bool has_halves() const {
    return std::ranges::any_of(graph_.values, [](const ValueInfo& value) { return is_half(value.type); });
  }

  bool is_sharded_alike(ValueId a, ValueId b) const { return local_.shardings[a] == local_.shardings[b]; }

  /// Returns the 16-bit value of which an operand of the node is a cast; -1 if it is none, or if it may not be there
  /// when the node runs.
  ValueId narrow_operand(NodeId id, ValueId operand) const {
    const Node* cast = cast_that_makes(graph_, operand);
    if (cast == nullptr) return -1;
    const ValueId narrow = cast->inputs[0];
    if (!is_half(graph_.type(narrow)) || is_half(graph_.type(operand)) || !is_sharded_alike(narrow, operand)) return -1;
    // An input of the prologue's micro-batches is not that of the loop after it.
    const bool is_given = graph_.values[narrow].producer < 0;
    const auto maker = static_cast<size_t>(cast - graph_.nodes.data());
    if (is_given && sections_[maker] != sections_[static_cast<size_t>(id)]) return -1;
    return narrow;
  }

  /// Returns the result of the cast to `half`, or to any 16-bit type, that alone uses a result of the node, in the same
  /// section; -1 if there is none.
  ValueId narrow_result(NodeId id, ValueId result, std::optional<DType> half) const {
    if (is_end_[result] || users_[result].size() != 1) return -1;
    const NodeId user = users_[result][0];
    if (!is_cast(graph_, graph_.nodes[user]) || sections_[user] != sections_[id]) return -1;
    const ValueId narrow = graph_.nodes[user].outputs[0];
    const Type& type = graph_.type(narrow);
    return is_half(type) && type.dtype == half.value_or(type.dtype) && is_sharded_alike(narrow, result) ? narrow
                                                                                                        : ValueId{-1};
  }

  bool has_wide_result(const Node& node) const {
    return std::ranges::any_of(node.outputs, [&](ValueId output) { return is_wide(graph_.type(output)); });
  }

  /// Replaces operands that are casts from one 16-bit type, the first one that is found, by what was cast. Returns that
  /// type; none if no operand is such a cast, or not all of `required` are.
  std::optional<DType> narrow_operands(NodeId id, const std::vector<int>& required,
                                       std::vector<ValueId>& inputs) const {
    std::optional<DType> half;
    for (size_t k = 0; k < inputs.size(); ++k) {
      const ValueId narrow = narrow_operand(id, inputs[k]);
      const bool fits = narrow >= 0 && (!half || graph_.type(narrow).dtype == *half);
      if (!fits && std::ranges::find(required, static_cast<int>(k)) != required.end()) {
        return std::nullopt;
      }
      if (!fits) continue;
      inputs[k] = narrow;
      half = graph_.type(narrow).dtype;
    }
    return half;
  }

  /// Replaces results, of which an op keeps `count` in 16 bits, by those of casts that alone use them.
  void narrow_results(NodeId id, int count, std::optional<DType> half, std::vector<ValueId>& outputs) const {
    for (int k = 0; k < count && k < static_cast<int>(outputs.size()); ++k) {
      ValueId& output = outputs[static_cast<size_t>(k)];
      const ValueId cast = narrow_result(id, output, half);
      if (cast >= 0) output = cast;
    }
  }

  /// Whether one of the first `count` results is a part of a sum in a wider float, which is not to be rounded.
  bool has_wide_part(const std::vector<ValueId>& outputs, int count) const {
    return std::any_of(
        outputs.begin(), outputs.begin() + std::min<std::ptrdiff_t>(count, std::ssize(outputs)),
        [&](ValueId output) { return is_wide(graph_.type(output)) && !local_.shardings[output].partial.empty(); });
  }

  void fold(NodeId id) {
    const Node& node = graph_.nodes[id];
    const OpDef& op = ops_.at(node.op);
    const Halves& halves = op.traits.halves;
    if (op.traits.is_conversion || !has_wide_result(node)) return;
    NodeValues values{node.inputs, node.outputs};
    const std::optional<DType> half = narrow_operands(id, halves.operands, values.inputs);
    if (!half && !halves.operands.empty()) return;
    NodeValues narrow = values;
    narrow_results(id, halves.results, half, narrow.outputs);
    if (!half && narrow.outputs == values.outputs) return;
    const auto plain = [](ValueId) { return MemoryFormat{}; };
    std::optional<KernelChoice> choice = kernels_.find(id, values, plain);
    if (!choice) return;
    if (narrow.outputs != values.outputs) {
      std::optional<KernelChoice> rounding = kernels_.find(id, narrow, plain);
      if (rounding && rounding->kernel == choice->kernel) {
        choice = std::move(rounding);
        values = std::move(narrow);
      }
    }
    if (values.inputs == node.inputs && values.outputs == node.outputs) return;
    if (choice->rounds && !choice->rounds_parts && has_wide_part(values.outputs, halves.results)) return;
    for (size_t k = 0; k < node.outputs.size(); ++k) {
      if (values.outputs[k] != node.outputs[k]) folded_.is_left_out[users_[node.outputs[k]][0]] = true;
    }
    folded_.nodes.emplace(id, FoldedNode{std::move(values), *std::move(choice)});
  }

  /// Whether a node is a cast of whose result folded nodes take the operand in its place, and which nothing else uses.
  bool is_needless(NodeId id) const {
    const Node& node = graph_.nodes[id];
    if (!is_cast(graph_, node) || is_end_[node.outputs[0]] || users_[node.outputs[0]].empty()) return false;
    return std::all_of(users_[node.outputs[0]].begin(), users_[node.outputs[0]].end(), [&](NodeId user) {
      const FoldedNode* folded = folded_.find(user);
      return folded != nullptr &&
             std::ranges::find(folded->values.inputs, node.outputs[0]) == folded->values.inputs.end();
    });
  }

  const LocalGraph& local_;
  const Graph& graph_;
  const OpSet& ops_;
  const ShardKernels kernels_;
  const std::vector<Section> sections_;           // per node
  const std::vector<std::vector<NodeId>> users_;  // per value
  std::vector<bool> is_end_;                      // per value: an output, or what a state becomes
  FoldedCasts folded_;
};

}  // namespace

const FoldedNode* FoldedCasts::find(NodeId node) const {
  const auto found = nodes.find(node);
  return found == nodes.end() ? nullptr : &found->second;
}

FoldedCasts fold_casts(const LocalGraph& local, const OpSet& ops, const KernelCatalog& catalog) {
  return Folder(local, ops, catalog).run();
}

bool stands_for_operand(const Graph& graph, ValueId given, ValueId value) {
  if (given == value) return true;
  const Node* cast = cast_that_makes(graph, value);
  return cast != nullptr && cast->inputs[0] == given;
}

bool stands_for_result(const Graph& graph, ValueId made, ValueId value) {
  if (made == value) return true;
  const Node* cast = cast_that_makes(graph, made);
  return cast != nullptr && cast->inputs[0] == value;
}

KernelChoice FoldingCatalog::choose(const KernelQuery& query) const {
  if (folds_ || ops_.at(query.op).traits.is_conversion || !mixes_halves(query)) return catalog_.choose(query);
  return {.reason = "kernels that mix element types are switched off"};
}

}  // namespace partita
