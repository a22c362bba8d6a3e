#pragma once
// Sharding propagation: from the annotated nodes outwards, each node is cut so that little has to move.

#include "compiler/plan/complete_plan.h"

namespace partita {

/// Decides the forward nodes breadth first from those that `partial` has cuts for (from the inputs when there are
/// none), along the values that they share, successors before predecessors; users of a partial value wait, and so
/// do compute-bound nodes, as products of matrices, for their operands. Of the cuts of a node the one is taken that
/// moves the fewest bytes between it and its decided neighbours (a compute-bound one: its operands), there and back
/// (the gradient lies as its value does); then the one that computes least on each rank; then the one whose results
/// have the fewest bytes left to reduce; then the one with the neighbour's numbers of parts, position by position. The
/// rest of the graph is completed.
Plan propagate(const Graph& graph, const Rules& rules, const Mesh& mesh, PartialPlan partial);

}  // namespace partita
