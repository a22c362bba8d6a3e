#pragma once
// The memory of a plan whose program is there.

#include "compiler/compile.h"
#include "planner/pricing/price.h"

namespace partita {

/// What the schedules of a program take on the largest rank of each group of its stages: their arenas, in parts.
/// Activations are what the backward reads of the forward; gradients those that the update reads, with what is
/// reduced to them, as far as they do not lie where activations were; workspace is the rest.
std::vector<StageMemory> placed_memory(const Program& program);

}  // namespace partita
