#pragma once
// Check that a program fits the memory of the machine, before anything is allocated.

#include "base/free_memory.h"
#include "compiler/compile.h"

namespace partita {

/// Bytes that a run will need, known from its schedule.
struct MemoryEstimate {
  int64_t arenas = 0;  // arenas of all ranks in this process
  int64_t states = 0;  // copies of the whole states
  int64_t total() const { return arenas + states; }
};
/// Returns the largest number of bytes of a rank's arenas, states included, summed over its stages.
int64_t largest_arena(const Program& program);
/// Returns the largest number of bytes of a rank's states, summed over its stages.
int64_t largest_states(const Program& program);
/// Returns the largest bytes of a rank while an evaluation runs between steps, summed over its stages: the training's
/// states, which both share, and the evaluation's arena.
int64_t largest_arena_between_steps(const Program& training, const Program& evaluation);

/// Copies of the whole states next to the arenas: those that a program is given and those collected after it.
inline constexpr int64_t kCopiesOfStates = 2;

/// Returns the estimate for `ranks_here` ranks in this process: that number times `largest_arena`, and `copies` copies
/// of the whole states. Numbers that overflow become the largest int64_t.
MemoryEstimate estimate_memory(const Program& program, int64_t ranks_here, int64_t copies = kCopiesOfStates);

/// Returns the estimate for `ranks_here` ranks in this process while an evaluation runs between the steps of a training
/// whose states it shares: that number times `largest_arena_between_steps`, and no copies of the whole states.
MemoryEstimate estimate_between_steps(const Program& training, const Program& evaluation, int64_t ranks_here);

/// Checks that the total of the estimate is at most `available` bytes; none: everything fits. Throws
/// RuntimeFailure(out_of_memory) otherwise.
void require_memory(const MemoryEstimate& estimate, std::optional<int64_t> available);

}  // namespace partita
