#pragma once
// Graph + mesh + options -> Plan.

#include "plan/plan.h"

namespace partita {

struct PlanOptions {
  std::string parallel = "none";  // a name from parallel_modes()
};

std::vector<std::string> parallel_modes();

/// Throws InvalidArgument when the graph does not fit the mesh, naming the nearest legal choice.
Plan make_plan(const Graph& graph, const OpSet& ops, const Mesh& mesh, const PlanOptions& options);

}  // namespace partita
