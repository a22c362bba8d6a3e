#include "compiler/plan/gradient_cuts.h"

namespace partita {
namespace {

using DimAxes = std::vector<Axes>;

/// Returns the sharding of a value at the origin that uses or makes it; none if it does neither.
std::optional<DimAxes> dims_at_origin(const Graph& graph, const Rules& rules, const CutOrigin& origin, ValueId value) {
  const Node& from = graph.nodes[origin.node];
  const ShardingRule& rule = rules[origin.node];
  for (size_t i = 0; i < from.inputs.size(); ++i) {
    if (from.inputs[i] == value) return dims_from_factors(rule, origin.cut, rule.inputs[i]);
  }
  for (size_t k = 0; k < from.outputs.size(); ++k) {
    if (from.outputs[k] == value) return dims_from_factors(rule, origin.cut, rule.outputs[k]);
  }
  return std::nullopt;
}

/// Returns the sharding that the origin's cut gives to its operands (if `inputs`, else its results) of this type, since
/// a gradient has the type of its value. None if there is no such value or if two of them are sharded differently.
std::optional<DimAxes> dims_of_like(const Graph& graph, const Rules& rules, const CutOrigin& origin, const Type& type,
                                    bool inputs) {
  const Node& from = graph.nodes[origin.node];
  const ShardingRule& rule = rules[origin.node];
  const std::vector<ValueId>& values = inputs ? from.inputs : from.outputs;
  std::optional<DimAxes> found;
  for (size_t i = 0; i < values.size(); ++i) {
    if (graph.type(values[i]) != type) continue;
    DimAxes dims = dims_from_factors(rule, origin.cut, inputs ? rule.inputs[i] : rule.outputs[i]);
    if (found && *found != dims) return std::nullopt;
    found = std::move(dims);
  }
  return found;
}

}  // namespace

std::vector<Suggestion> gradient_suggestions(const Graph& graph, const Rules& rules, size_t n, const CutOrigin& origin,
                                             const std::vector<std::vector<Axes>>& dims) {
  const Node& node = graph.nodes[n];
  std::vector<Suggestion> own, arriving, between;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId value = node.inputs[i];
    const TensorMap* map = &rules[n].inputs[i];
    if (const std::optional<DimAxes> at = dims_at_origin(graph, rules, origin, value)) {
      own.push_back({map, *at});
      continue;
    }
    const NodeId producer = graph.values[value].producer;
    const bool inside = producer >= 0 && graph.nodes[producer].origin == node.origin;
    const std::optional<DimAxes> like =
        inside ? std::nullopt : dims_of_like(graph, rules, origin, graph.type(value), /*inputs=*/false);
    (like ? arriving : between).push_back({map, like ? *like : dims[value]});
  }
  own.insert(own.end(), arriving.begin(), arriving.end());
  own.insert(own.end(), between.begin(), between.end());
  for (size_t k = 0; k < node.outputs.size(); ++k) {
    const auto like = dims_of_like(graph, rules, origin, graph.type(node.outputs[k]), /*inputs=*/true);
    if (like) own.push_back({&rules[n].outputs[k], *like});
  }
  return own;
}

}  // namespace partita
