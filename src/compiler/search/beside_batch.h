#pragma once
// Cuts that a search finds over some axes of a mesh, where others cut the batch.

#include "compiler/search/search_cuts.h"

namespace partita {

/// Every forward node cuts its batch over the axes of a mesh but for `tensor`, and is cut over these, all of them as
/// one, as the search finds it best; what `partial` has decided of nodes and states stays. `search.costs` are those of
/// a mesh that `one_axis` gives.
PartialPlan search_beside_batch(const Graph& graph, const Rules& rules, const OpSet& ops, const Mesh& mesh,
                                const Axes& tensor, const CutSearch& search, PartialPlan partial);

/// A mesh of one axis, for some axes of another one that follow one another.
Mesh one_axis(const Mesh& mesh, const Axes& axes);

}  // namespace partita
