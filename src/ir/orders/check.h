#pragma once
// Checks that a sequence, read or edited, can run.

#include "ir/orders/sequence.h"

namespace partita {

/// Checks that every slot of the shape occurs once, the micro-batches of each section increase, the sections of a
/// micro-batch follow each other on every stage, and no groups wait for each other. Weight slots must exist for all
/// stages or for none. Throws InvalidArgument otherwise, which names a cycle of waiting slots, and for a bad shape (bad
/// numbers of stages, micro-batches, groups or times) and bad dependencies (of unknown stages, on a later section, or
/// in a cycle).
void check(const Sequence& sequence, const PipelineShape& shape, const std::vector<Dependency>& dependencies);

/// Returns the sequence with the same order per group, sorted as `make_sequence` sorts it: topological, by estimated
/// start. Throws as `check` does.
Sequence in_order_of_time(const Sequence& sequence, const PipelineShape& shape,
                          const std::vector<Dependency>& dependencies);

}  // namespace partita
