#pragma once
// The recursion over axes: in one round for each axis of the mesh, the slowest first, every node is cut once more or
// left as it is (as in Wang et al., 2021, "Efficient and systematic partitioning of large and deep neural networks for
// parallelization", whose second recursion over the nodes is an elimination here: a round has few alternatives). Then
// each two axes may move again, so that what came first is good beside what came later.

#include "compiler/search/cost_graph.h"

namespace partita {

/// The cost graph in which each node has the cut that was found for it, and how values lie is still open. A
/// round goes over `most_bytes` of a rank's memory by no more than later axes can take away again; `price`: of
/// a byte of it, as `with_price` has it.
CostGraph recursive_search(const ForwardNodes& nodes, const Mesh& mesh, const PartialPlan& pinned,
                           const CostGraphOptions& options, double most_bytes, double price);

}  // namespace partita
