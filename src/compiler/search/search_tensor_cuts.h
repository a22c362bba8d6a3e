#pragma once
// Cuts over some axes of a mesh, found by a search, while the other axes cut the batch.

#include "compiler/search/search_cuts.h"

namespace partita {

/// Returns `partial` with the cuts of the forward nodes and their states. Each forward node cuts its batch over all
/// axes of `mesh` except `tensor`. Over `tensor`, treated as a single axis, it is cut as the search decides. What
/// `partial` has decided of nodes and states is kept.
/// `search.costs` must be those of the mesh that `one_axis` returns. Throws InvalidArgument if `partial` cuts over a
/// part of `tensor`.
PartialPlan search_tensor_cuts(const ForwardNodes& nodes, const Mesh& mesh, const Axes& tensor, const CutSearch& search,
                               PartialPlan partial);

/// Returns a mesh with a single axis of as many ranks as the given axes of `mesh` have together, or without axes if
/// none are given.
Mesh one_axis(const Mesh& mesh, const Axes& axes);

}  // namespace partita
