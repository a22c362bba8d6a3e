#include "plan/plan.h"

#include <algorithm>
#include <sstream>
#include <unordered_map>

namespace partita {
namespace {

/// Inputs, then states.
std::vector<ValueId> entries(const Graph& graph) {
  std::vector<ValueId> ids;
  for (const Input& input : graph.inputs) ids.push_back(input.value);
  for (const State& state : graph.states) ids.push_back(state.entry);
  return ids;
}

[[noreturn]] void fail(int line, std::string_view what, std::string_view got, std::string_view expected) {
  throw InvalidArgument(fmt::format("[plan line {}] {}, got '{}', expected {}", line, what, got, expected));
}

}  // namespace

std::string print(const Plan& plan, const Graph& graph, const OpSet& ops) {
  std::string text =
      fmt::format("partita plan 1\ngraph {}\nsearch {}\n{}\n", plan.graph, plan.search, print(plan.mesh));
  const std::vector<ValueId> ids = entries(graph);
  for (size_t i = 0; i < ids.size(); ++i) {
    std::string dims;
    bool cut = false;
    for (const Axes& axes : plan.inputs[i]) {
      dims += fmt::format(" {{{}}}", plan.mesh.print(axes));
      cut = cut || !axes.empty();
    }
    if (cut) text += fmt::format("input %{}{}\n", graph.values[ids[i]].name, dims);
  }
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const ShardingRule rule = rule_of(graph, graph.nodes[n], ops);
    const std::string cut = print(plan.cuts[n], rule, plan.mesh);
    if (!cut.empty()) text += fmt::format("node {} {}\n", graph.nodes[n].name, cut);
  }
  return text;
}

Plan parse_plan(std::string_view text, const Graph& graph, const OpSet& ops) {
  std::istringstream lines{std::string(text)};
  std::string line;
  std::getline(lines, line);
  if (line != "partita plan 1") fail(1, "not a plan of this version", line.substr(0, 40), "'partita plan 1'");
  Plan plan;
  const std::vector<ValueId> ids = entries(graph);
  for (ValueId id : ids) plan.inputs.emplace_back(graph.type(id).shape.size());
  std::unordered_map<std::string, size_t> nodes;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    nodes.emplace(graph.nodes[n].name, n);
    plan.cuts.emplace_back(rule_of(graph, graph.nodes[n], ops).factors.size());
  }
  const auto read = [&](const std::string& keyword, std::istringstream& words, int number) {
    std::string name;
    words >> name;
    if (keyword == "mesh") {
      plan.mesh = parse_mesh(line);
    } else if (keyword == "graph") {
      plan.graph = name;
    } else if (keyword == "search") {
      plan.search = name;
    } else if (keyword == "node") {
      const auto found = nodes.find(name);
      if (found == nodes.end()) fail(number, "unknown node", name, "a node of graph " + graph.name);
      std::getline(words, name);
      plan.cuts[found->second] = parse_cut(name, rule_of(graph, graph.nodes[found->second], ops), plan.mesh);
    } else if (keyword == "input") {
      size_t at = 0;
      while (at < ids.size() && "%" + graph.values[ids[at]].name != name) ++at;
      if (at == ids.size()) fail(number, "unknown input or state", name, "one of graph " + graph.name);
      std::vector<Axes> dims;
      for (std::string word; words >> word;) dims.push_back(parse_axes(word, plan.mesh));
      if (dims.size() != plan.inputs[at].size())
        fail(number, "wrong number of dimensions", line, print(graph.type(ids[at])));
      plan.inputs[at] = std::move(dims);
    } else {
      fail(number, "unknown line", keyword, "graph, search, mesh, input or node");
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
  if (plan.cuts.size() != graph.nodes.size()) reject(graph.name, "the plan is for another graph");
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const ShardingRule rule = rule_of(graph, graph.nodes[n], ops);
    const std::string reason = illegal(rule, plan.cuts[n], plan.mesh);
    if (!reason.empty()) reject(graph.nodes[n].name, reason);
    if (needs_expansion(rule, plan.cuts[n]) && !ops.at(graph.nodes[n].op).expand) {
      reject(graph.nodes[n].name, "a cut factor needs an expansion, and the op has none");
    }
  }
  const std::vector<ValueId> ids = entries(graph);
  if (plan.inputs.size() != ids.size()) reject(graph.name, "the plan is for another graph");
  for (size_t i = 0; i < ids.size(); ++i) {
    if (plan.inputs[i].size() != graph.type(ids[i]).shape.size()) {
      reject(graph.values[ids[i]].name, "another number of dimensions");
    }
    Axes used;
    for (size_t d = 0; d < plan.inputs[i].size(); ++d) {
      for (int axis : plan.inputs[i][d]) {
        if (std::find(used.begin(), used.end(), axis) != used.end()) {
          reject(graph.values[ids[i]].name, "an axis cuts two dimensions");
        }
        used.push_back(axis);
      }
      if (plan.mesh.ways(plan.inputs[i][d]) > graph.type(ids[i]).shape[d]) {
        reject(graph.values[ids[i]].name, fmt::format("dimension {} has fewer elements than parts", d));
      }
    }
  }
}

}  // namespace partita
