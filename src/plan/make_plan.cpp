#include "plan/make_plan.h"

#include <algorithm>

#include "plan/search/data_parallel.h"

namespace partita {
namespace {

// Every rank computes everything.
Plan replicated_plan(const Graph& graph, const OpSet& ops, const Mesh& mesh) {
  Plan plan{.graph = graph.name, .search = "none", .mesh = mesh, .inputs = {}, .cuts = {}};
  for (const Input& input : graph.inputs) plan.inputs.emplace_back(graph.type(input.value).shape.size());
  for (const State& state : graph.states) plan.inputs.emplace_back(graph.type(state.entry).shape.size());
  for (const Node& node : graph.nodes) {
    plan.cuts.emplace_back(rule_of(graph, node, ops).factors.size());
  }
  return plan;
}

struct Mode {
  std::string name;
  Plan (*make)(const Graph&, const OpSet&, const Mesh&);
};

constexpr size_t kModes = 2;
const std::array<Mode, kModes>& modes() {
  static const std::array<Mode, kModes> list{{{"none", replicated_plan}, {"data", data_parallel_plan}}};
  return list;
}

}  // namespace

std::vector<std::string> parallel_modes() {
  std::vector<std::string> names;
  for (const Mode& mode : modes()) names.push_back(mode.name);
  return names;
}

Plan make_plan(const Graph& graph, const OpSet& ops, const Mesh& mesh, const PlanOptions& options) {
  for (const Mode& mode : modes()) {
    if (mode.name == options.parallel) return mode.make(graph, ops, mesh);
  }
  throw InvalidArgument(
      fmt::format("[plan] unknown parallel mode, got '{}', expected one of [{}]{}", options.parallel,
                  fmt::join(parallel_modes(), ", "), did_you_mean(options.parallel, parallel_modes())),
      ErrorKind::key);
}

}  // namespace partita
