#pragma once
// A cluster model's prediction of a step, as spans to compare with those that a rank recorded.

#include "planner/simulation/simulate_program.h"
#include "runtime/trace/chrome_trace.h"

namespace partita {

/// Simulates a step of a program on a cluster (a preset or a file), with its spans. Throws MissingFile for a file that
/// cannot be read, InvalidFile for one that is too large, and InvalidArgument for one that is malformed, an unknown
/// preset, and a cluster with too few ranks.
SimulatedStep predict_step(const Program& program, const std::string& cluster, int threads);

/// Returns the predicted spans of a rank: those of its group in `step`, repeated for each step that the first rank
/// recorded in its trace `first`, and moved to the begin of that step.
RankTrace predicted_trace(const SimulatedStep& step, const Program& program, int rank, const RankTrace& first);

}  // namespace partita
