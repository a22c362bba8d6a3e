#pragma once
// Check of the number of values that a batch norm normalises.

#include "ir/graph/op_def.h"

namespace partita {

/// Checks that no batch norm of `graph`, a training's forward pass, has one value per channel and group of rows. Such a
/// value is always normalised to 0, and no gradient passes through it. `micro_batches` of the training select the
/// advice in the message. Throws InvalidArgument, which names the layer, otherwise.
void require_several_values(const Graph& graph, const OpSet& ops, int64_t micro_batches);

}  // namespace partita
