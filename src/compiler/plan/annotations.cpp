#include "compiler/plan/annotations.h"

#include <algorithm>

#include "ir/sharding/strategy.h"

namespace partita {
namespace {

/// Parameters whose sharding an annotation has fixed.
class Pins {
 public:
  Pins(const Graph& graph, const Mesh& mesh, PartialPlan& partial) : graph_(graph), mesh_(mesh), partial_(partial) {
    for (size_t s = 0; s < graph.states.size(); ++s) states_.emplace(graph.states[s].entry, s);
  }

  void add(const Node& node, ValueId value, const std::vector<Axes>& dims) {
    const auto state = states_.find(value);
    if (state == states_.end()) return;
    auto& pinned = partial_.states[state->second];
    if (pinned && *pinned != dims) {
      const Type& type = graph_.type(value);
      throw InvalidArgument(
          "[shard] two annotations lay out one parameter differently, got {} of {} and {} of {} for '{}', expected one "
          "layout",
          partita::print(type, {.dims = *pinned}, mesh_), by_[value], partita::print(type, {.dims = dims}, mesh_),
          describe(node), graph_.values[value].name);
    }
    pinned = dims;
    by_.emplace(value, describe(node));
  }

 private:
  const Graph& graph_;
  const Mesh& mesh_;
  PartialPlan& partial_;
  std::map<ValueId, size_t> states_;
  std::map<ValueId, std::string> by_;
};

}  // namespace

std::string describe(const Node& node) {
  std::string text = node.name;
  if (!node.scope.empty()) text += " (in " + node.scope;
  if (!node.source.file.empty()) {
    text += fmt::format("{}at {}:{}", node.scope.empty() ? " (" : " ", node.source.file, node.source.line);
  }
  return text + (text == node.name ? "" : ")");
}

bool has_annotations(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [](const Node& node) { return node.annotation.has_value(); });
}

PartialPlan partial_plan_of_annotations(const Graph& graph, const Rules& rules, const Mesh& mesh) {
  PartialPlan partial(graph);
  Pins pins(graph, mesh, partial);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (!node.annotation) continue;
    const std::vector<Type> inputs = graph.types(node.inputs), outputs = graph.types(node.outputs);
    const ShardingRule& rule = rules[n];
    AnnotatedCut annotated =
        cut_of(*node.annotation, {describe(node), rule, inputs, outputs, rules.expandable(n)}, mesh);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      pins.add(node, node.inputs[i], dims_from_factors(rule, annotated.cut, rule.inputs[i]));
    }
    for (size_t k = 0; k < annotated.results.size(); ++k) partial.results[node.outputs[k]] = annotated.results[k];
    partial.cuts[n] = std::move(annotated.cut);
  }
  return partial;
}

}  // namespace partita
