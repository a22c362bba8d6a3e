#pragma once
// Recursive search over axes: one round for each axis of the mesh, the slowest first, in which every node is cut over
// that axis or left as it is. After Wang et al., 2021, "Efficient and systematic partitioning of large and deep neural
// networks for parallelization", with elimination in place of their second recursion over nodes, since a round has few
// alternatives. In later rounds every pair of axes may move again, so that early decisions fit the later ones.

#include "compiler/search/cost_graph.h"

namespace partita {

/// Returns the cost graph in which each node has the cut found for it, while shardings of shared values are still open.
/// `price`: what each byte of a rank's memory adds to the costs that are compared. A round may exceed `max_bytes` of a
/// rank's memory by what later axes can still divide.
CostGraph recursive_search(const ForwardNodes& nodes, const Mesh& mesh, const PartialPlan& pinned,
                           const CostGraphOptions& options, double max_bytes, double price);

}  // namespace partita
