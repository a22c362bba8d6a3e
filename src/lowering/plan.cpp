#include "lowering/plan.h"

#include <sstream>
#include <unordered_map>
#include <utility>

#include "graph/rules.h"

namespace partita {
namespace {

/// Inputs, then states.
std::vector<ValueId> entries(const Graph& graph) {
  std::vector<ValueId> ids;
  for (const Input& input : graph.inputs) ids.push_back(input.value);
  for (const State& state : graph.states) ids.push_back(state.entry);
  return ids;
}

/// " {dp} {}": the axes of each dimension.
std::string print_dims(const std::vector<Axes>& dims, const Mesh& mesh) {
  std::string text;
  for (const Axes& axes : dims) text += fmt::format(" {{{}}}", mesh.print(axes));
  return text;
}

[[noreturn]] void fail(int line, std::string_view what, std::string_view got, std::string_view expected) {
  throw InvalidArgument(fmt::format("[plan line {}] {}, got '{}', expected {}", line, what, got, expected));
}

}  // namespace

std::string print(const Plan& plan, const Graph& graph, const OpSet& ops) {
  std::string text =
      fmt::format("partita plan 1\ngraph {}\nsearch {}\n{}\n", plan.graph, plan.search, print(plan.mesh));
  const Rules rules(graph, ops);
  const std::vector<ValueId> ids = entries(graph);
  for (size_t i = 0; i < ids.size(); ++i) {
    if (!is_cut(plan.inputs[i])) continue;
    text += fmt::format("input %{}{}\n", graph.values[ids[i]].name, print_dims(plan.inputs[i], plan.mesh));
  }
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const std::string cut = print(plan.cuts[n], rules[n], plan.mesh);
    if (!cut.empty()) text += fmt::format("node {} {}\n", graph.nodes[n].name, cut);
  }
  for (const auto& [value, dims] : plan.results) {
    text += fmt::format("result %{}{}\n", graph.values[value].name, print_dims(dims, plan.mesh));
  }
  for (const auto& [name, dims] : plan.outputs) {
    text += fmt::format("output {}{}\n", name, print_dims(dims, plan.mesh));
  }
  return text;
}

Plan parse_plan(std::string_view text, const Graph& graph, const OpSet& ops) {
  std::istringstream lines{std::string(text)};
  std::string line;
  std::getline(lines, line);
  if (line != "partita plan 1") fail(1, "not a plan of this version", line.substr(0, 40), "'partita plan 1'");
  Plan plan;
  const Rules rules(graph, ops);
  const std::vector<ValueId> ids = entries(graph);
  for (ValueId id : ids) plan.inputs.emplace_back(graph.type(id).shape.size());
  std::unordered_map<std::string_view, size_t> nodes, entry_places;
  std::unordered_map<std::string_view, ValueId> values;
  for (size_t i = 0; i < ids.size(); ++i) entry_places.emplace(graph.values[ids[i]].name, i);
  for (size_t v = 0; v < graph.values.size(); ++v) values.emplace(graph.values[v].name, static_cast<ValueId>(v));
  const auto find_value = [](const auto& index, const std::string& name) {
    return name.starts_with("%") ? index.find(std::string_view(name).substr(1)) : index.end();
  };
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    nodes.emplace(graph.nodes[n].name, n);
    plan.cuts.emplace_back(rules[n].factors.size());
  }
  bool mesh_is_fixed = false;
  const auto read_dims = [&](std::istringstream& words, ValueId value, int number) {
    mesh_is_fixed = true;
    std::vector<Axes> dims;
    for (std::string word; words >> word;) dims.push_back(parse_axes(word, plan.mesh));
    if (dims.size() != graph.type(value).shape.size()) {
      fail(number, "wrong number of dimensions", line, print(graph.type(value)));
    }
    return dims;
  };
  const auto read = [&](const std::string& keyword, std::istringstream& words, int number) {
    std::string name;
    words >> name;
    if (keyword == "mesh") {
      if (std::exchange(mesh_is_fixed, true))
        fail(number, "a second mesh, or one behind a cut", line, "one, before all cuts");
      plan.mesh = parse_mesh(line);
    } else if (keyword == "graph") {
      plan.graph = name;
    } else if (keyword == "search") {
      plan.search = name;
    } else if (keyword == "node") {
      mesh_is_fixed = true;
      const auto found = nodes.find(name);
      if (found == nodes.end()) fail(number, "unknown node", name, "a node of graph " + graph.name);
      std::getline(words, name);
      plan.cuts[found->second] = parse_cut(name, rules[found->second], plan.mesh);
    } else if (keyword == "input") {
      const auto found = find_value(entry_places, name);
      if (found == entry_places.end()) fail(number, "unknown input or state", name, "one of graph " + graph.name);
      plan.inputs[found->second] = read_dims(words, ids[found->second], number);
    } else if (keyword == "result") {
      const auto found = find_value(values, name);
      if (found == values.end()) fail(number, "unknown value", name, "one of graph " + graph.name);
      const ValueId value = found->second;
      if (graph.values[value].producer < 0) {
        fail(number, "no node makes the value", name, "a result; others have 'input' lines");
      }
      plan.results[value] = read_dims(words, value, number);
    } else if (keyword == "output") {
      plan.outputs[name] = read_dims(words, graph.output(name), number);
    } else {
      fail(number, "unknown line", keyword, "graph, search, mesh, input, node, result or output");
    }
  };
  for (int number = 2; std::getline(lines, line); ++number) {
    std::istringstream words(line);
    std::string keyword;
    if (!(words >> keyword)) continue;
    try {
      read(keyword, words, number);
    } catch (const Error& error) {
      const std::string_view what = error.what();
      if (what.starts_with("[plan line")) throw;
      throw InvalidArgument(fmt::format("[plan line {}] {}", number, what), error.kind());
    }
  }
  verify(plan, graph, ops);
  return plan;
}

void verify(const Plan& plan, const Graph& graph, const OpSet& ops) {
  const auto reject = [&](const std::string& name, const std::string& reason) {
    throw InvalidArgument(fmt::format("[plan] illegal cut of {}: {}", name, reason));
  };
  const Rules rules(graph, ops);
  if (plan.cuts.size() != graph.nodes.size()) reject(graph.name, "the plan is for another graph");
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const ShardingRule& rule = rules[n];
    const std::string reason = illegal(rule, plan.cuts[n], plan.mesh);
    if (!reason.empty()) reject(graph.nodes[n].name, reason);
    if (needs_expansion(rule, plan.cuts[n]) && !rules.expandable(n)) {
      reject(graph.nodes[n].name, "a cut factor needs an expansion, and the op has none");
    }
  }
  const std::vector<ValueId> ids = entries(graph);
  if (plan.inputs.size() != ids.size()) reject(graph.name, "the plan is for another graph");
  const auto check_dims = [&](ValueId value, const std::vector<Axes>& dims) {
    const std::string reason = illegal(graph.type(value), dims, plan.mesh);
    if (!reason.empty()) reject(graph.values[value].name, reason);
  };
  for (size_t i = 0; i < ids.size(); ++i) check_dims(ids[i], plan.inputs[i]);
  for (const auto& [value, dims] : plan.results) check_dims(value, dims);
  for (const auto& [name, dims] : plan.outputs) check_dims(graph.output(name), dims);
}

}  // namespace partita
