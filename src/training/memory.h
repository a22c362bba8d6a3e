#pragma once
// Whether a program fits the memory of the machine, before anything is allocated.

#include "base/free_memory.h"
#include "compiler/compile.h"

namespace partita {

/// Bytes that a run will take: what is known from its schedule.
struct MemoryEstimate {
  int64_t arenas = 0;  // of all ranks in this process
  int64_t states = 0;  // whole
  int64_t total() const { return arenas + states; }
};
/// Bytes of the arenas of a rank, of that which has the most.
int64_t largest_arena(const Program& program);
/// Bytes of the states of a rank, of that which has the most.
int64_t largest_states(const Program& program);
/// The arenas while an evaluation runs between the steps of a training whose states it shares: these and the arena of
/// the evaluation.
int64_t largest_arena_between_steps(const Program& training, const Program& evaluation);

/// Of the states that a program is given, and that are collected behind it.
inline constexpr int64_t kCopiesOfStates = 2;

/// `copies`: of the states as a whole, beside the arenas.
MemoryEstimate estimate_memory(const Program& program, int64_t ranks_here, int64_t copies = kCopiesOfStates);

/// While an evaluation runs between the steps of a training whose states it shares.
MemoryEstimate estimate_between_steps(const Program& training, const Program& evaluation, int64_t ranks_here);

/// Throws RuntimeFailure(out_of_memory) when the estimate is larger than what there is.
void require_memory(const MemoryEstimate& estimate, std::optional<int64_t> available);

}  // namespace partita
