#pragma once
// Applies a plan: the same program on shards.

#include "partition/local_graph.h"

namespace partita {

/// Throws InvalidArgument for a plan that needs what is not there (halo exchange of a cut window).
LocalGraph partition(const Graph& graph, const OpSet& ops, const Plan& plan);

}  // namespace partita
