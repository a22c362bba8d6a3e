#pragma once
// Where reductions with another type on the wire round their operands.

#include "compiler/schedule/schedule.h"

namespace partita {

/// Returns, per buffer, whether exactly one instruction reads its memory, and no input, state or output lies there:
/// that instruction may change it. A collective and the wait for it count as one.
std::vector<bool> read_once(const Schedule& schedule);

/// Takes the scratch from each reduce-scatter that can round its operand in place (`can_round_in_place`) and alone
/// reads it, so that it can run along with kernels, which use the scratch.
void round_in_place(Schedule& schedule, const LocalGraph& local);

}  // namespace partita
