#pragma once
// When things run: the part of `verify` that knows which instructions micro-batches repeat.

#include "compiler/schedule/schedule.h"

namespace partita {

/// Throws InternalError: a node runs in every micro-batch that should run once, or the other way; a sum over
/// micro-batches is added to twice in one, or reduced before it is complete; copies of an input are read but by a load.
void check_sections(const Schedule& schedule, const LocalGraph& local);

}  // namespace partita
