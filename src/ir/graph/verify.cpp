#include <unordered_set>

#include "ir/graph/op_def.h"

namespace partita {
namespace {

[[noreturn]] void fail(const std::string& where, std::string_view what, const std::string& got,
                       const std::string& expected) {
  throw InvalidArgument("[{}] {}, got {}, expected {}", where, what, got, expected);
}

void verify_node(const Graph& graph, NodeId id, const OpSet& ops, const std::vector<bool>& made) {
  const Node& node = graph.nodes[id];
  const OpDef& op = ops.at(node.op);
  for (ValueId input : node.inputs) {
    if (input < 0 || input >= static_cast<ValueId>(graph.values.size()) || !made[input]) {
      fail(node.name, "operand is used before it is computed", fmt::format("value {}", input), "an earlier value");
    }
  }
  for (ValueId input : node.inputs) {
    const NodeId producer = graph.values[input].producer;
    const bool early = producer >= 0 && node.phase != Phase::update && graph.nodes[producer].phase == Phase::update;
    if (early)
      fail(node.name, "a forward or backward node uses a value of the update", graph.values[input].name,
           "a value made before");
  }
  const std::vector<Type> inferred = op.infer({node.attrs, graph.types(node.inputs), {}});
  if (inferred != graph.types(node.outputs)) {
    fail(node.name, "wrong types of the results", print(graph.types(node.outputs)), print(inferred));
  }
}

}  // namespace

void verify(const Graph& graph, const OpSet& ops) {
  std::vector<bool> made(graph.values.size(), false);
  std::unordered_set<std::string> names;
  for (const ValueInfo& value : graph.values) {
    if (!names.insert(value.name).second) fail("graph", "two values have the same name", value.name, "unique names");
  }
  std::unordered_set<std::string> nodes;
  for (const Node& node : graph.nodes) {
    if (!nodes.insert(node.name).second) fail("graph", "two nodes have the same name", node.name, "unique names");
  }
  for (const Input& input : graph.inputs) made[input.value] = true;
  for (const State& state : graph.states) made[state.entry] = true;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    verify_node(graph, static_cast<NodeId>(n), ops, made);
    for (ValueId output : graph.nodes[n].outputs) made[output] = true;
  }
  for (const State& state : graph.states) {
    if (state.exit < 0) continue;
    const std::string& name = graph.values[state.entry].name;
    if (!made[state.exit]) fail(name, "state is stored from a value that is never computed", "", "a value");
    if (graph.type(state.exit) != graph.type(state.entry)) {
      fail(name, "state is stored with another type", print(graph.type(state.exit)), print(graph.type(state.entry)));
    }
  }
  names.clear();
  for (const Output& output : graph.outputs) {
    if (!names.insert(output.name).second) fail("graph", "two outputs have the same name", output.name, "unique names");
    if (!made[output.value]) fail(output.name, "output is never computed", "", "a value");
  }
}

}  // namespace partita
