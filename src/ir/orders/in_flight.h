#pragma once
// Number of copies of a value that an order keeps.

#include "ir/orders/sequence.h"

namespace partita {

/// Returns the maximum number of micro-batches whose slot of section `from` of `from_stage` has begun, and whose slot
/// of section `to` of `to_stage` has not finished, over the global order. The stages may differ, e.g. for a value that
/// is sent, until its receiver has used it. A section that the sequence lacks never finishes. Linear in the sequence.
int64_t copies(const Sequence& sequence, int from_stage, StageSection from, int to_stage, StageSection to);

}  // namespace partita
