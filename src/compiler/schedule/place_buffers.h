#pragma once
// Last pass of scheduling: gives every buffer its offset in the arena.

#include "compiler/schedule/choose_kernels.h"

namespace partita {

/// Places states and inputs in the head of the arena. Other buffers share memory if their lifetimes do not overlap:
/// largest first, each at the lowest free offset (greedy by size, as in Pisarchyk and Lee, "Efficient Memory Management
/// for Deep Neural Net Inference", 2020).
/// A result takes the memory of an operand that its instruction is the last to read, if the kernel allows it. The new
/// value of a state takes the state's memory if the update writes it after all other reads, or, for a cache of a step
/// without micro-batches, anything does; otherwise it is copied there at the end of the step. External states get
/// offsets after the arena.
void place_buffers(Schedule& schedule, const LocalGraph& local, const ExternalStates& external = {});

}  // namespace partita
