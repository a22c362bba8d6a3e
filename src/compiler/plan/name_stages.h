#pragma once
// Names of the layers on each stage.

#include "compiler/plan/stages.h"
#include "ir/graph/graph.h"

namespace partita {

/// Returns for each stage the paths under which all nodes are on that stage, the shortest possible, and the names of
/// single nodes, such as "net/add#1", in the order in which paths first appear in the graph, nodes of a path before the
/// paths under it. `annotate_stages` with these gives the same stages. Numbered layers are ranges. Only forward nodes
/// count; those that run on every stage are left out.
std::vector<std::vector<std::string>> name_stages(const Graph& graph, const StageAssignment& assignment);

}  // namespace partita
