#pragma once
// The double recursion: in one round for each axis of the mesh, the slowest first, every node in turn, the largest
// first, is cut once more or left as it is (Wang et al., 2021, "Efficient and systematic partitioning of large and deep
// neural networks for parallelization").

#include "plan/search/cost_graph.h"

namespace partita {

/// The cost graph in which each node has the cut that was found for it, and how values lie is still open. Linear in the
/// nodes and the axes.
CostGraph recursive_search(const ForwardNodes& nodes, const Mesh& mesh, const PartialPlan& pinned,
                           const CostGraphOptions& options);

}  // namespace partita
