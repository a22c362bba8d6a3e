#pragma once
// Whether a sequence that was read or edited can run.

#include "ir/orders/sequence.h"

namespace partita {

/// Throws InvalidArgument unless every slot of the shape is there once, the micro-batches of each section increase, the
/// sections of a micro-batch follow each other on every stage, and all groups reach their end: each runs its slots in
/// the order of the sequence and waits for what they need. The cycle that keeps them from it is named. Weight slots may
/// be there for all stages or for none.
void check(const Sequence& sequence, const PipelineShape& shape, const std::vector<Dependency>& dependencies);

/// The same orders of groups as a topological order of the dependencies, as make_sequence gives it. Throws as `check`.
Sequence in_order_of_time(const Sequence& sequence, const PipelineShape& shape,
                          const std::vector<Dependency>& dependencies);

}  // namespace partita
