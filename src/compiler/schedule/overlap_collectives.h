#pragma once
// Collectives that run while something else is computed.

#include "compiler/schedule/schedule.h"

namespace partita {

/// An all-gather or reduce-scatter that needs no staging is started where its operand is there, and waited for where
/// its result is read first, or at the end of its section; only if something is computed in between. What is gathered
/// of a state starts as soon as the gather before it was waited for: one ahead of its use. A sum over micro-batches is
/// scattered from the last of them on. Before the update all that was started is there.
void overlap_collectives(Schedule& schedule, const LocalGraph& local, const ScheduleOptions& options);

}  // namespace partita
