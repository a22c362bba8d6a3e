#include "compiler/partition/round_reductions.h"

#include <algorithm>

#include "compiler/partition/collectives.h"
#include "compiler/partition/sections.h"

namespace partita {
namespace {

/// Whether the result is the same gradient: moved, converted or added to others.
bool goes_on(const OpTraits& traits) { return traits.is_conversion || traits.moves_elements || traits.is_sum; }

/// Returns, per value, whether it is used, and only by the update, by checks of gradients and as an output of the step,
/// directly or after nodes of the backward pass that move, convert or add gradients.
std::vector<bool> gradients_of_parameters(const LocalGraph& local, const OpSet& ops) {
  const Graph& graph = local.graph;
  const std::vector<bool> checks = checks_of_gradients(local);
  enum Use : char { none, update, other };
  std::vector<Use> uses(graph.values.size(), none);
  for (const State& state : graph.states) {
    if (state.exit >= 0) uses[state.exit] = other;
  }
  for (const Output& output : graph.outputs) {
    uses[output.value] = std::max(uses[output.value], output.to_stages.empty() ? update : other);
  }
  for (size_t n = graph.nodes.size(); n-- > 0;) {
    const Node& node = graph.nodes[n];
    Use use = other;
    if (node.phase == Phase::update || checks[n]) {
      use = update;
    } else if (is_collective(node)) {
      use = uses[node.outputs[0]];
    } else if (node.phase == Phase::backward && goes_on(ops.at(node.op).traits)) {
      use = none;
      for (const ValueId output : node.outputs) use = std::max(use, uses[output]);
    }
    for (const ValueId input : node.inputs) uses[input] = std::max(uses[input], use);
  }
  std::vector<bool> found;
  for (const Use use : uses) found.push_back(use == update);
  return found;
}

}  // namespace

void round_reductions(LocalGraph& local, const OpSet& ops, std::optional<DType> wire) {
  if (!wire) return;
  Graph& graph = local.graph;
  const std::vector<bool> leads = gradients_of_parameters(local, ops);
  std::vector<bool> is_gradient(graph.values.size(), false);  // made by the backward pass, perhaps moved
  for (Node& node : graph.nodes) {
    if (!is_collective(node)) {
      for (const ValueId output : node.outputs) is_gradient[output] = node.phase == Phase::backward;
      continue;
    }
    is_gradient[node.outputs[0]] = is_gradient[node.inputs[0]];
    const bool is_sum = (performs(node, Collective::all_reduce) || performs(node, Collective::reduce_scatter)) &&
                        node.attrs.as<CollectiveAttrs>().reduce == Reduce::sum;
    if (!is_sum || !is_gradient[node.inputs[0]] || !leads[node.outputs[0]]) continue;
    const Type& type = graph.type(node.inputs[0]);
    const auto is_long = [](int64_t size) { return size > 1; };
    const bool is_vector = std::ranges::count_if(type.shape, is_long) < 2;
    if (type.dtype != DType::f32 || is_vector) continue;
    CollectiveAttrs attrs = node.attrs.as<CollectiveAttrs>();
    attrs.wire = wire;
    node.attrs = Attrs(std::move(attrs));
  }
}

}  // namespace partita
