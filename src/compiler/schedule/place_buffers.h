#pragma once
// The last pass of scheduling: every buffer gets its offset in the arena.

#include "compiler/schedule/choose_kernels.h"

namespace partita {

/// States and inputs stay in the head of the arena. The others share memory when their lifetimes do not
/// meet: largest first, each at the lowest offset that is free (greedy by size, as in Pisarchyk and Lee,
/// "Efficient Memory Management for Deep Neural Net Inference", 2020). A result is made in place of an
/// operand that it is the last to read when its kernel allows it; a state is overwritten in place when its last
/// reader writes it, and copied at the end of the step otherwise. States that are external get offsets behind the
/// arena.
void place_buffers(Schedule& schedule, const LocalGraph& local, const ExternalStates& external = {});

}  // namespace partita
