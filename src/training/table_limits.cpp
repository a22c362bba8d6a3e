#include "training/table_limits.h"

#include <algorithm>
#include <array>
#include <set>

#include "ops/index/attrs.h"

namespace partita {
namespace {

/// Ops whose results are all elements of their operands; a slice may leave out what is no id.
constexpr std::array<std::string_view, 6> kMoving{"cast", "reshape", "transpose", "broadcast_to", "reverse", "concat"};

/// The inputs and states whose elements `value` has.
std::set<ValueId> sources_of(const Graph& graph, ValueId value) {
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
    if (std::find(kMoving.begin(), kMoving.end(), node.op) == kMoving.end()) continue;
    left.insert(left.end(), node.inputs.begin(), node.inputs.end());
  }
  return found;
}

}  // namespace

std::vector<IdLimit> table_limits(const Graph& graph) {
  std::set<ValueId> inputs;
  for (const Input& input : graph.inputs) inputs.insert(input.value);
  std::vector<IdLimit> limits;
  for (const Node& node : graph.nodes) {
    if (node.op != "embedding") continue;
    const auto& attrs = node.attrs.as<EmbeddingAttrs>();
    const int64_t rows = attrs.rows > 0 ? attrs.rows : graph.type(node.inputs[0]).shape[0];
    const std::set<ValueId> tables = sources_of(graph, node.inputs[0]);
    const ValueId table = tables.empty() ? node.inputs[0] : *tables.begin();
    for (const ValueId ids : sources_of(graph, node.inputs[1])) {
      if (!inputs.contains(ids)) continue;
      IdLimit limit{.column = graph.values[static_cast<size_t>(ids)].name,
                    .rows = rows,
                    .table = graph.values[static_cast<size_t>(table)].name};
      if (std::find(limits.begin(), limits.end(), limit) == limits.end()) limits.push_back(std::move(limit));
    }
  }
  return limits;
}

}  // namespace partita
