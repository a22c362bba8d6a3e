#pragma once
// Which layers each stage has, by their names.

#include "compiler/plan/stages.h"
#include "ir/graph/graph.h"

namespace partita {

/// Per stage what its layers' paths begin with, so that marks of these (assign_stages.h) give the same stages. Layers
/// that are numbered are ranges.
std::vector<std::vector<std::string>> name_stages(const Graph& graph, const StageAssignment& assignment);

}  // namespace partita
