#pragma once
// Data parallelism: every input is cut along its batch dimension, every state is replicated, and the
// rest follows through the rules.

#include "plan/plan.h"

namespace partita {

/// Throws InvalidArgument when a batch does not divide by the ranks, naming the nearest that do.
Plan data_parallel_plan(const Graph& graph, const OpSet& ops, const Mesh& mesh);

}  // namespace partita
