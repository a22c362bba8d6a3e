#include "training/memory.h"

#include <algorithm>
#include <limits>

namespace partita {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

int64_t saturating_add(int64_t a, int64_t b) { return a > kMost - b ? kMost : a + b; }
int64_t saturating_mul(int64_t a, int64_t b) { return b != 0 && a > kMost / b ? kMost : a * b; }

}  // namespace

int64_t largest_arena(const Program& program) {
  std::vector<int64_t> bytes(program.pipeline.groups.size(), 0);
  for (size_t stage = 0; stage < program.stages.size(); ++stage) {
    int64_t& of_group = bytes[static_cast<size_t>(program.pipeline.shape.groups[stage])];
    of_group = saturating_add(of_group, program.stages[stage].schedule.arena_bytes);
  }
  return *std::max_element(bytes.begin(), bytes.end());
}

void MemoryEstimate::add_arenas(const MemoryEstimate& other) { arenas = saturating_add(arenas, other.arenas); }

MemoryEstimate estimate_memory(const Program& program, int64_t ranks_here, int64_t copies) {
  MemoryEstimate estimate{.arenas = saturating_mul(largest_arena(program), ranks_here)};
  for (const State& state : program.graph.states) {
    estimate.states = saturating_add(estimate.states, program.graph.type(state.entry).bytes());
  }
  estimate.states = saturating_mul(estimate.states, copies);
  return estimate;
}

void require_memory(const MemoryEstimate& estimate, std::optional<int64_t> available) {
  const int64_t needed =
      estimate.arenas == kMost || estimate.states == kMost ? kMost : saturating_add(estimate.arenas, estimate.states);
  if (!available || needed <= *available) return;
  throw RuntimeFailure(
      ExitCode::out_of_memory,
      fmt::format(
          "[memory] the program does not fit, got an estimate of {} ({} for what the ranks here compute, {} for "
          "copies of the states), expected at most the {} that are free: a smaller batch or model, or more "
          "hosts; --force starts it all the same",
          print_bytes(needed), print_bytes(estimate.arenas), print_bytes(estimate.states), print_bytes(*available)));
}

}  // namespace partita
