#include "ir/graph/graph.h"

#include <cmath>

namespace partita {

std::string_view name_of(Phase phase) {
  constexpr std::string_view names[] = {"forward", "backward", "update"};
  return names[static_cast<int>(phase)];
}

std::string_view name_of(StateKind kind) {
  constexpr std::string_view names[] = {"parameter", "statistic", "optimizer", "counter", "cache"};
  return names[static_cast<int>(kind)];
}

void check_arguments(const Initializer& init) {
  const auto& args = init.args;
  const size_t expected = init.kind == InitKind::zeros || init.kind == InitKind::ones ? 0
                          : init.kind == InitKind::constant                           ? 1
                                                                                      : 2;
  bool legal = args.size() == expected;
  for (double value : args) legal = legal && std::isfinite(value);
  const bool has_sigma = init.kind == InitKind::normal || init.kind == InitKind::truncated_normal;
  const bool has_bounds = init.kind == InitKind::uniform;
  if (legal && has_sigma) legal = args[1] >= 0;
  if (legal && has_bounds) legal = args[0] <= args[1];
  if (legal) return;
  constexpr std::string_view kExpected[] = {"none", "1 finite number", "2 finite numbers"};
  throw InvalidArgument("[initializer] bad arguments, got {}({}), expected {}{}", name_of(init.kind),
                        fmt::join(args, ", "), kExpected[expected],
                        has_bounds  ? ", low <= high"
                        : has_sigma ? ", sigma >= 0"
                                    : "");
}

std::vector<Type> Graph::types(const std::vector<ValueId>& ids) const {
  std::vector<Type> result;
  result.reserve(ids.size());
  for (ValueId id : ids) result.push_back(type(id));
  return result;
}

ValueId Graph::input(std::string_view input_name) const {
  std::vector<std::string> names;
  for (const Input& input : inputs) {
    names.push_back(values[input.value].name);
    if (names.back() == input_name) return input.value;
  }
  throw InvalidArgument(ErrorKind::key, "[graph] unknown input, got '{}', expected one of [{}]", input_name,
                        fmt::join(names, ", "));
}

ValueId Graph::output(std::string_view output_name) const {
  std::vector<std::string> names;
  for (const Output& output : outputs) {
    if (output.name == output_name) return output.value;
    names.push_back(output.name);
  }
  throw InvalidArgument(ErrorKind::key, "[graph] unknown output, got '{}', expected one of [{}]", output_name,
                        fmt::join(names, ", "));
}

const State* Graph::find_state(std::string_view state_name) const {
  const auto found =
      std::ranges::find_if(states, [&](const State& state) { return values[state.entry].name == state_name; });
  return found == states.end() ? nullptr : &*found;
}

std::unordered_map<std::string_view, size_t> Graph::states_by_name() const {
  std::unordered_map<std::string_view, size_t> index;
  for (size_t s = 0; s < states.size(); ++s) index.emplace(values[states[s].entry].name, s);
  return index;
}

std::vector<std::vector<NodeId>> Graph::users() const {
  std::vector<std::vector<NodeId>> users(values.size());
  for (size_t n = 0; n < nodes.size(); ++n) {
    for (ValueId input : nodes[n].inputs) {
      std::vector<NodeId>& list = users[input];
      if (list.empty() || list.back() != static_cast<NodeId>(n)) list.push_back(static_cast<NodeId>(n));
    }
  }
  return users;
}

Graph remove_dead_nodes(Graph graph) {
  graph.own_gradients.clear();
  std::vector<bool> needed(graph.values.size(), false);
  for (const Output& output : graph.outputs) needed[output.value] = true;
  for (const State& state : graph.states) {
    if (state.exit >= 0) needed[state.exit] = true;
  }
  std::vector<bool> alive(graph.nodes.size(), false);
  for (size_t n = graph.nodes.size(); n-- > 0;) {
    const Node& node = graph.nodes[n];
    alive[n] = any_marked(node.outputs, needed);
    if (!alive[n]) continue;
    for (ValueId input : node.inputs) needed[input] = true;
  }

  std::vector<ValueInfo> values;
  values.reserve(graph.values.size());
  std::vector<ValueId> renamed(graph.values.size(), -1);
  const auto keep = [&](ValueId old, NodeId producer) {
    renamed[old] = static_cast<ValueId>(values.size());
    values.push_back(std::move(graph.values[old]));
    values.back().producer = producer;
    return renamed[old];
  };
  for (Input& input : graph.inputs) input.value = keep(input.value, -1);
  for (State& state : graph.states) state.entry = keep(state.entry, -1);
  size_t kept = 0;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (!alive[n]) continue;
    if (kept != n) graph.nodes[kept] = std::move(graph.nodes[n]);
    Node& node = graph.nodes[kept];
    for (ValueId& input : node.inputs) input = renamed[input];
    for (ValueId& output : node.outputs) output = keep(output, static_cast<NodeId>(kept));
    ++kept;
  }
  graph.nodes.erase(graph.nodes.begin() + static_cast<std::ptrdiff_t>(kept), graph.nodes.end());
  graph.values = std::move(values);
  for (State& state : graph.states) {
    if (state.exit >= 0) state.exit = renamed[state.exit];
  }
  for (Output& output : graph.outputs) output.value = renamed[output.value];
  return graph;
}

}  // namespace partita
