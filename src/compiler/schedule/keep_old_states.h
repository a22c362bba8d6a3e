#pragma once
// Copies of states that are overwritten while their old values are still needed.

#include "compiler/schedule/schedule.h"

namespace partita {

/// Adds a buffer, and at the end an instruction that copies to it, for each output or other state that takes the old
/// value of a state that is written, since all states are written at once after everything was read. Outputs that are
/// sent to other stages need no copy: they are sent earlier.
void keep_old_states(Schedule& schedule, const LocalGraph& local);

}  // namespace partita
