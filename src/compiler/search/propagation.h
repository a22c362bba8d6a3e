#pragma once
// Sharding propagation: from the annotated nodes outwards, each node is cut so that little has to move.

#include "compiler/plan/complete_plan.h"

namespace partita {

/// Decides the forward nodes breadth-first along shared values, from those that `partial` has cuts for (from the inputs
/// if there are none), successors before predecessors. Users of a partial value wait, and compute-bound nodes such as
/// matrix products wait for their operands. Then completes the plan.
/// A node gets the cut that moves the fewest bytes between it and its decided neighbours (if it is compute-bound, its
/// operands), forwards and back, since a gradient is sharded as its value. Ties are broken by the least computation on
/// each rank, then by the fewest bytes left to reduce, then by the numbers of parts most like the neighbour's.
Plan propagate(const Graph& graph, const Rules& rules, const Mesh& mesh, PartialPlan partial);

}  // namespace partita
