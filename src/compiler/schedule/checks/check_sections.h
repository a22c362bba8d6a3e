#pragma once
// Part of `verify` that checks which instructions micro-batches repeat.

#include "compiler/schedule/schedule.h"

namespace partita {

/// Checks that nodes run in the right sections: once, or in every micro-batch; and that inputs from outside have one
/// copy, or one for each micro-batch if these cut them. No node may accumulate twice, a sum must be complete before it
/// is reduced, and only a load may read the copies of an input, except on a pipeline stage. Throws InternalError
/// otherwise.
void check_sections(const Schedule& schedule, const LocalGraph& local);

}  // namespace partita
