#include "ir/graph/rewrite.h"

namespace partita {
namespace {

Graph inputs_and_states_of(const Graph& from) {
  Graph head{.name = from.name};
  const auto keep = [&](ValueId old) {
    head.values.push_back(from.values[old]);
    return static_cast<ValueId>(head.values.size()) - 1;
  };
  for (Input input : from.inputs) {
    input.value = keep(input.value);
    head.inputs.push_back(input);
  }
  for (State state : from.states) {
    state.entry = keep(state.entry);
    state.exit = -1;
    head.states.push_back(std::move(state));
  }
  return head;
}

}  // namespace

Rewrite::Rewrite(const Graph& from, const OpSet& ops)
    : from_(from), builder_(ops, inputs_and_states_of(from)), made_(from.values.size()) {
  builder_.reserve_names(from);
  const Graph& head = builder_.graph();
  for (size_t i = 0; i < from.inputs.size(); ++i) made_[from.inputs[i].value] = builder_.value(head.inputs[i].value);
  for (size_t s = 0; s < from.states.size(); ++s) made_[from.states[s].entry] = builder_.value(head.states[s].entry);
}

std::vector<Value> Rewrite::operator[](const std::vector<ValueId>& old) const {
  std::vector<Value> values;
  for (const ValueId value : old) values.push_back(made_[value]);
  return values;
}

void Rewrite::set(const Node& node, const std::vector<Value>& results) {
  for (size_t k = 0; k < results.size(); ++k) made_[node.outputs[k]] = results[k];
}

Graph Rewrite::finish() {
  for (const State& state : from_.states) {
    if (state.exit >= 0) builder_.store(made_[state.entry], made_[state.exit]);
  }
  Graph graph = builder_.take();
  for (const Output& output : from_.outputs) {
    graph.outputs.push_back(output);
    graph.outputs.back().value = made_[output.value].id();
  }
  return graph;
}

}  // namespace partita
