#pragma once
// How many values the batch norms of a training normalise.

#include "ir/graph/op_def.h"

namespace partita {

/// Throws InvalidArgument with the layer if a batch norm of a training has one value per channel and group of rows: its
/// normalised value is 0, whatever the value is, and no gradient passes through it. `micro_batches`: of the training.
void require_several_values(const Graph& graph, const OpSet& ops, int64_t micro_batches);

}  // namespace partita
