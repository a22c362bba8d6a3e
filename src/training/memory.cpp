#include "training/memory.h"

#include <algorithm>
#include <functional>

#include "base/saturating.h"

namespace partita {
namespace {

/// Returns the maximum over the groups of ranks of the sum of `bytes_of` over a group's stages.
int64_t largest(const Program& program, const std::function<int64_t(size_t stage)>& bytes_of) {
  const std::vector<int64_t> bytes = bytes_of_groups(program.pipeline, bytes_of);
  return *std::ranges::max_element(bytes);
}

}  // namespace

int64_t largest_arena(const Program& program) {
  return largest(program, [&](size_t stage) { return program.stages[stage].schedule.arena_bytes; });
}

int64_t largest_states(const Program& program) {
  return largest(program, [&](size_t stage) { return program.stages[stage].schedule.state_bytes; });
}

int64_t largest_arena_between_steps(const Program& training, const Program& evaluation) {
  return largest(training, [&](size_t stage) {
    return saturating_add(training.stages[stage].schedule.state_bytes, evaluation.stages[stage].schedule.arena_bytes);
  });
}

MemoryEstimate estimate_memory(const Program& program, int64_t ranks_here, int64_t copies) {
  MemoryEstimate estimate{.arenas = saturating_mul(largest_arena(program), ranks_here)};
  for (const State& state : program.graph.states) {
    estimate.states = saturating_add(estimate.states, program.graph.type(state.entry).bytes());
  }
  estimate.states = saturating_mul(estimate.states, copies);
  return estimate;
}

MemoryEstimate estimate_between_steps(const Program& training, const Program& evaluation, int64_t ranks_here) {
  return {.arenas = saturating_mul(largest_arena_between_steps(training, evaluation), ranks_here)};
}

void require_memory(const MemoryEstimate& estimate, std::optional<int64_t> available) {
  const int64_t needed = saturating_add(estimate.arenas, estimate.states);
  if (!available || needed <= *available) return;
  throw RuntimeFailure(ExitCode::out_of_memory,
                       "[memory] the program does not fit, got an estimate of {} ({} for what the ranks here compute, "
                       "{} for copies of the states), expected at most the {} that are free: a smaller batch or model, "
                       "or more hosts; --force starts it anyway",
                       print_bytes(needed), print_bytes(estimate.arenas), print_bytes(estimate.states),
                       print_bytes(*available));
}

}  // namespace partita
