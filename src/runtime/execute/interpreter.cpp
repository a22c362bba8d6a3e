#include "runtime/execute/interpreter.h"

#include "runtime/execute/subnormals.h"

namespace partita {
namespace {

const Array& entry(const Graph& graph, ValueId value, const std::map<std::string, Array>& given) {
  const ValueInfo& info = graph.values[value];
  const auto found = given.find(info.name);
  if (found == given.end()) {
    throw InvalidArgument(ErrorKind::key, "[interpret] no value for '{}', got {} values, expected {}", info.name,
                          given.size(), print(info.type));
  }
  if (found->second.type() != info.type) {
    throw InvalidArgument(ErrorKind::type, "[interpret] '{}' has the wrong type, got {}, expected {}", info.name,
                          print(found->second.type()), print(info.type));
  }
  return found->second;
}

}  // namespace

Interpretation interpret_all(const Graph& graph, const OpSet& ops, const std::map<std::string, Array>& given,
                             bool keep_values) {
  std::vector<Array> values(graph.values.size());
  for (const Input& input : graph.inputs) values[input.value] = entry(graph, input.value, given);
  for (const State& state : graph.states) values[state.entry] = entry(graph, state.entry, given);
  for (const Node& node : graph.nodes) {
    std::vector<ConstTensor> inputs;
    std::vector<Tensor> outputs;
    for (ValueId input : node.inputs) inputs.push_back(std::as_const(values[input]).tensor());
    for (ValueId output : node.outputs) {
      values[output] = Array(graph.type(output));
      outputs.push_back(values[output].tensor());
    }
    const SubnormalScope scope(subnormals_of(graph, node));
    ops.at(node.op).kernel(node.attrs, inputs, outputs);
  }
  Interpretation result;
  for (const Output& output : graph.outputs) result.outputs.emplace(output.name, values[output.value]);
  for (const State& state : graph.states) {
    result.states.emplace(graph.name_of(state), values[state.exit >= 0 ? state.exit : state.entry]);
  }
  if (keep_values) {
    for (size_t v = 0; v < values.size(); ++v) result.values.emplace(graph.values[v].name, std::move(values[v]));
  }
  return result;
}

std::vector<Array> interpret(const Graph& graph, const OpSet& ops, const std::map<std::string, Array>& given) {
  Interpretation all = interpret_all(graph, ops, given);
  std::vector<Array> outputs;
  for (const Output& output : graph.outputs) outputs.push_back(all.outputs.at(output.name));
  return outputs;
}

}  // namespace partita
