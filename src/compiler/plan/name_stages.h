#pragma once
// Names of the layers on each stage.

#include "compiler/plan/stages.h"
#include "ir/graph/graph.h"

namespace partita {

/// Returns for each stage the path prefixes of its layers and the names of single nodes, such as "net/add#1". Marks of
/// these (assign_stages.h) give the same stages. Numbered layers are ranges. Only forward nodes count; those that run
/// on every stage are left out.
std::vector<std::vector<std::string>> name_stages(const Graph& graph, const StageAssignment& assignment);

}  // namespace partita
