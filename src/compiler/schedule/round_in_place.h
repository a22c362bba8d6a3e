#pragma once
// Reductions that are sent in another type than that of their operand: where they round it.

#include "compiler/schedule/schedule.h"

namespace partita {

/// Returns, per buffer, whether one instruction alone reads its memory, which no input or state has: that instruction
/// may change it. A collective and the wait for it count as one.
std::vector<bool> read_once(const Schedule& schedule);

/// Takes the scratch from each reduce-scatter that can round its operand in place (`can_round_in_place`) and alone
/// reads it, so that it can run along with kernels, which use the scratch.
void round_in_place(Schedule& schedule, const LocalGraph& local);

}  // namespace partita
