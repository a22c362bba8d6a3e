#include "compiler/plan/outputs.h"

#include <algorithm>

#include "ir/sharding/propagate.h"

namespace partita {
namespace {

/// Returns the sharding of a value after its partial sums are reduced: the one that the plan gives it, else that which
/// its node's cut leaves. Inputs and states count as not cut.
std::vector<Axes> dims_of(const Plan& plan, const Graph& graph, const OpSet& ops, ValueId value) {
  if (const auto placed = plan.results.find(value); placed != plan.results.end()) return placed->second;
  const NodeId maker = graph.values[value].producer;
  if (maker < 0) return std::vector<Axes>(graph.type(value).shape.size());
  return output_sharding(rule_of(graph, graph.nodes[maker], ops), plan.cuts[maker], graph.values[value].output).dims;
}

const Output* find_output(const Graph& graph, std::string_view name) {
  const auto found = std::ranges::find_if(graph.outputs, [&](const Output& output) { return output.name == name; });
  return found == graph.outputs.end() ? nullptr : &*found;
}

/// Index of the input `name` if its dimension 0 is the batch, else the number of inputs.
size_t find_rows(const Graph& graph, std::string_view name) {
  const auto found = std::ranges::find_if(
      graph.inputs, [&](const Input& input) { return graph.values[input.value].name == name && input.batch_dim == 0; });
  return static_cast<size_t>(found - graph.inputs.begin());
}

}  // namespace

bool compares_labels(std::string_view output) {
  return output == "logits" || output == kLabelPlace || output == kFiniteRow;
}

Plan with_logits_in_rows(Plan plan, const Graph& graph, const OpSet& ops) {
  const Output *output = find_output(graph, "logits"), *place = find_output(graph, kLabelPlace);
  const size_t label = find_rows(graph, "label");
  if ((output == nullptr && place == nullptr) || label == graph.inputs.size()) return plan;
  const NodeId judge = place == nullptr ? -1 : graph.values[place->value].producer;
  const ValueId logits = place == nullptr ? output->value : graph.nodes[judge].inputs[0];
  if (graph.type(logits).shape.empty()) return plan;
  std::vector<Axes> dims = dims_of(plan, graph, ops, logits);
  const int64_t rows = graph.type(logits).shape.at(0);
  Axes by_rows = plan.inputs[label].at(0);
  for (Axes& axes : dims) {
    const Axes before = std::exchange(axes, {});
    for (int axis : before) {
      const bool used = std::ranges::find(by_rows, axis) != by_rows.end();
      if (!used && plan.mesh.ways(by_rows) * plan.mesh.ways({axis}) <= rows) by_rows.push_back(axis);
    }
  }
  dims[0] = by_rows;
  if (place == nullptr) {
    plan.outputs["logits"] = std::move(dims);
    return plan;
  }
  const ShardingRule rule = rule_of(graph, graph.nodes[judge], ops);
  plan.cuts[judge] = suggest_cut(rule, {{&rule.inputs[0], dims}}, plan.mesh, /*expandable=*/false);
  dims.pop_back();
  for (const ValueId result : graph.nodes[judge].outputs) plan.results.erase(result);
  for (const std::string_view name : {kLabelPlace, kFiniteRow}) plan.outputs[std::string(name)] = dims;
  return plan;
}

Plan with_outputs_to_read(Plan plan, const Graph& graph, const OpSet& ops) {
  for (const Output& output : graph.outputs) {
    const size_t dims = graph.type(output.value).shape.size();
    if (dims > 0 && !compares_labels(output.name)) plan.outputs[output.name] = std::vector<Axes>(dims);
  }
  return with_logits_in_rows(std::move(plan), graph, ops);
}

}  // namespace partita
