#pragma once
// Copies of states that are written while something still needs their old values.

#include "compiler/schedule/schedule.h"

namespace partita {

/// All states are written at once, after everything was read: where an output, or another state, takes the
/// old value of a state that is written, it takes a copy; but for what is sent to other stages before that.
void keep_old_states(Schedule& schedule, const LocalGraph& local);

}  // namespace partita
