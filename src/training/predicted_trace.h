#pragma once
// What a cluster says that a step takes, as spans beside those that a rank recorded.

#include "planner/simulation/simulate_program.h"
#include "runtime/trace/chrome_trace.h"

namespace partita {

/// A step of a program on a cluster, a preset or a file, with its spans. Throws what `open_cluster` does, and
/// InvalidArgument for a cluster of too few ranks.
SimulatedStep predict_step(const Program& program, const std::string& cluster, int threads);

/// The spans of a rank in each step that the first rank recorded, from where that began there.
RankTrace predicted_trace(const SimulatedStep& step, const Program& program, int rank, const RankTrace& first);

}  // namespace partita
