#pragma once
// How many copies of a value an order keeps.

#include "ir/orders/sequence.h"

namespace partita {

/// The most micro-batches for which the first slot was begun and the second one is not finished, over the global order.
/// The stages may differ: a value that is sent, until its receiver has used it. A section that the sequence does not
/// have never finishes. Linear in the sequence.
int64_t copies(const Sequence& sequence, int from_stage, StageSection from, int to_stage, StageSection to);

}  // namespace partita
