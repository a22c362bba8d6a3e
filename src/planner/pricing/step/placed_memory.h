#pragma once
// Memory of a plan, measured on its compiled program.

#include "compiler/compile.h"
#include "planner/pricing/step/price.h"

namespace partita {

/// Returns the bytes of each group's stages in their arenas on the largest rank, in parts, for a program with
/// schedules. Activations are rows and values of the forward pass that the backward pass reads. Gradients are those
/// that the update reads, and their unreduced forms, as far as they do not reuse the memory of activations. Workspace
/// is the rest of the arena.
std::vector<StageMemory> placed_memory(const Program& program);

}  // namespace partita
