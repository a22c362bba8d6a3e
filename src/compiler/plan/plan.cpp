#include "compiler/plan/plan.h"

#include "compiler/plan/cut_micro_batches.h"
#include "ir/graph/rules.h"

namespace partita {

std::vector<ValueId> entry_values(const Graph& graph) {
  std::vector<ValueId> ids;
  for (const Input& input : graph.inputs) ids.push_back(input.value);
  for (const State& state : graph.states) ids.push_back(state.entry);
  return ids;
}

std::string print(const Plan& plan, const Graph& graph, const OpSet& ops) {
  std::string text =
      fmt::format("partita plan 1\ngraph {}\nsearch {}\n{}\n", plan.graph, plan.search, print(plan.mesh));
  const Rules rules(graph, ops);
  const std::vector<ValueId> ids = entry_values(graph);
  for (size_t i = 0; i < ids.size(); ++i) {
    if (!is_cut(plan.inputs[i])) continue;
    text += fmt::format("input %{} {}\n", graph.values[ids[i]].name, print_dims(plan.inputs[i], plan.mesh));
  }
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const std::string cut = print(plan.cuts[n], rules[n], plan.mesh);
    if (!cut.empty()) text += fmt::format("node {} {}\n", graph.nodes[n].name, cut);
  }
  for (const auto& [value, dims] : plan.results) {
    text += fmt::format("result %{} {}\n", graph.values[value].name, print_dims(dims, plan.mesh));
  }
  for (const size_t state : plan.regathered) {
    text += fmt::format("regather %{}\n", graph.values[graph.states[state].entry].name);
  }
  for (const auto& [name, dims] : plan.outputs) {
    text += fmt::format("output {} {}\n", name, print_dims(dims, plan.mesh));
  }
  return text;
}

void verify(const Plan& plan, const Graph& graph, const OpSet& ops) {
  const auto refuse = [](const std::string& what, const std::string& got, const std::string& expected) {
    throw InvalidArgument("[plan] illegal cut of {}, got '{}', expected {}", what, got, expected);
  };
  const auto check_count = [&](size_t count, size_t expected, std::string_view what) {
    if (count == expected) return;
    throw InvalidArgument("[plan] the plan does not fit graph {}, got {} {}, expected {}", graph.name, count, what,
                          expected);
  };
  const Rules rules(graph, ops);
  check_count(plan.cuts.size(), graph.nodes.size(), "nodes");
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const ShardingRule& rule = rules[n];
    require_legal("plan", graph.nodes[n].name, rule, plan.cuts[n], plan.mesh);
    if (needs_expansion(rule, plan.cuts[n]) && !rules.expandable(n)) {
      refuse(graph.nodes[n].name + ": a cut factor needs an expansion, and the op has none",
             print(plan.cuts[n], rule, plan.mesh), "a cut of other factors of " + print(rule));
    }
  }
  const std::vector<ValueId> ids = entry_values(graph);
  check_count(plan.inputs.size(), ids.size(), "inputs and states");
  const auto check_dims = [&](ValueId value, const std::vector<Axes>& dims) {
    const std::string reason = illegal(graph.type(value), dims, plan.mesh);
    if (reason.empty()) return;
    refuse(fmt::format("%{}: {}", graph.values[value].name, reason), print_dims(dims, plan.mesh),
           "axes that fit " + print(graph.type(value)));
  };
  for (size_t i = 0; i < ids.size(); ++i) check_dims(ids[i], plan.inputs[i]);
  for (const auto& [value, dims] : plan.results) check_dims(value, dims);
  for (const auto& [name, dims] : plan.outputs) check_dims(graph.output(name), dims);
  verify_micro_batches(plan, graph, rules);
}

}  // namespace partita
