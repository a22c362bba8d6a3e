#pragma once
// Part of `verify` that checks which instructions micro-batches repeat.

#include "compiler/schedule/schedule.h"

namespace partita {

/// Checks that nodes run in the right sections: once, or in every micro-batch. Each micro-batch must be accumulated
/// once, a sum must be complete before it is reduced, and only a load may read the copies of an input. Throws
/// InternalError otherwise.
void check_sections(const Schedule& schedule, const LocalGraph& local);

}  // namespace partita
