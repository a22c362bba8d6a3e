#include "lowering/expand_nodes.h"

#include "graph/builder.h"
#include "graph/rules.h"

namespace partita {

Expanded expand_nodes(const Graph& graph, const OpSet& ops, const Plan& plan) {
  Graph head{.name = graph.name};  // inputs and states keep their order and names
  std::vector<Value> made(graph.values.size());
  const auto keep = [&](ValueId old) {
    const ValueId id = static_cast<ValueId>(head.values.size());
    head.values.push_back(graph.values[old]);
    return id;
  };
  for (const Input& input : graph.inputs) head.inputs.push_back({keep(input.value), input.batch_dim});
  for (State state : graph.states) {
    state.entry = keep(state.entry);
    state.exit = -1;
    head.states.push_back(std::move(state));
  }
  Builder rest(ops, std::move(head));
  rest.reserve_names(graph);
  for (size_t i = 0; i < graph.inputs.size(); ++i)
    made[graph.inputs[i].value] = rest.value(rest.graph().inputs[i].value);
  for (size_t i = 0; i < graph.states.size(); ++i)
    made[graph.states[i].entry] = rest.value(rest.graph().states[i].entry);

  const Rules rules(graph, ops);
  Expanded result;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    const OpDef& op = ops.at(node.op);
    const std::vector<Type> outputs = graph.types(node.outputs);
    std::vector<Value> operands;
    for (ValueId input : node.inputs) operands.push_back(made[input]);
    std::vector<Value> results;
    if (needs_expansion(rules[n], plan.cuts[n])) {
      rest.scope = node.scope;
      rest.source = node.source;
      rest.phase = node.phase;
      rest.origin = node.origin.empty() ? node.name : node.origin;
      results = op.expand({{rest, node.attrs, operands}, outputs});
      PARTITA_CHECK(results.size() == outputs.size(), "expansion of {} has {} results", node.op, results.size());
      result.cuts.resize(rest.graph().nodes.size());
    } else {
      results = rest.copy_node(graph, node, operands);
      result.cuts.emplace_back(plan.cuts[n]);
    }
    for (size_t k = 0; k < results.size(); ++k) made[node.outputs[k]] = results[k];
  }
  for (const State& state : graph.states) {
    if (state.exit >= 0) rest.store(made[state.entry], made[state.exit]);
  }
  for (const Output& output : graph.outputs) rest.output(output.name, made[output.value]);
  for (const auto& [value, dims] : plan.results) result.results[made[value].id()] = dims;
  result.graph = rest.take();
  return result;
}

}  // namespace partita
