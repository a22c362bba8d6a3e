#pragma once
// Part of `verify` that checks which instructions micro-batches repeat.

#include "compiler/schedule/schedule.h"

namespace partita {

/// Throws InternalError if a node that should run once runs in every micro-batch, or the reverse. Throws it, too, if
/// one micro-batch is accumulated twice, a sum is reduced before it is complete, or anything but a load reads the
/// copies of an input.
void check_sections(const Schedule& schedule, const LocalGraph& local);

}  // namespace partita
