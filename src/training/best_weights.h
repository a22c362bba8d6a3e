#pragma once

#include <cstdint>

namespace partita {

class RankRun;
struct TrainingRun;

/// Gives the parameters, statistics and averages that this rank of a training holds their values in the checkpoint of
/// step `best`, as rank 0 knows it; -1: none. Returns the step. If a rank cannot read its part, no rank changes any,
/// all return -1, and rank 0 warns. Collective. Throws RankFailures.
int64_t restore_best(const TrainingRun& run, RankRun& rank, int64_t best);

}  // namespace partita
