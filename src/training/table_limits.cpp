#include "training/table_limits.h"

#include <algorithm>
#include <set>

namespace partita {
namespace {

/// Returns the inputs and states from which `value` is made by ops that only move elements. Slices are not followed,
/// since they may leave out elements that are no ids.
std::set<ValueId> sources_of(const Graph& graph, const OpSet& ops, ValueId value) {
  std::set<ValueId> found, seen;
  std::vector<ValueId> left{value};
  while (!left.empty()) {
    const ValueId next = left.back();
    left.pop_back();
    if (!seen.insert(next).second) continue;
    const NodeId producer = graph.values[static_cast<size_t>(next)].producer;
    if (producer < 0) {
      found.insert(next);
      continue;
    }
    const Node& node = graph.nodes[static_cast<size_t>(producer)];
    if (!ops.at(node.op).traits.moves_elements) continue;
    left.insert(left.end(), node.inputs.begin(), node.inputs.end());
  }
  return found;
}

}  // namespace

std::vector<IdLimit> table_limits(const Graph& graph, const OpSet& ops) {
  std::set<ValueId> inputs;
  for (const Input& input : graph.inputs) inputs.insert(input.value);
  std::vector<IdLimit> limits;
  for (const Node& node : graph.nodes) {
    const OpTraits& traits = ops.at(node.op).traits;
    if (!traits.table_rows) continue;
    const std::vector<Type> inputs_of_node = graph.types(node.inputs), outputs_of_node = graph.types(node.outputs);
    const int64_t rows = traits.table_rows({node.attrs, inputs_of_node, outputs_of_node});
    const std::set<ValueId> tables = sources_of(graph, ops, node.inputs[0]);
    const ValueId table = tables.empty() ? node.inputs[0] : *tables.begin();
    for (const ValueId ids : sources_of(graph, ops, node.inputs[1])) {
      if (!inputs.contains(ids)) continue;
      IdLimit limit{.column = graph.values[static_cast<size_t>(ids)].name,
                    .rows = rows,
                    .table = graph.values[static_cast<size_t>(table)].name};
      if (std::ranges::find(limits, limit) == limits.end()) limits.push_back(std::move(limit));
    }
  }
  return limits;
}

}  // namespace partita
