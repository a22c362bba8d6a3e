#pragma once
// What collectives take between ranks that are threads of this process.

#include <vector>

#include "base/collective.h"

namespace partita {

/// `bytes` as in planner/cluster/collective_seconds.h.
struct CollectiveTime {
  Collective kind = Collective::all_reduce;
  int ranks = 2;
  double bytes = 0;
  double seconds = 0;
};

/// Reductions and gathers of 1 KiB to 8 MiB, each for `seconds` and a few times at least: from the first rank's start
/// to the last rank's end, the shortest. Every rank writes its buffer before a call, as a training does.
std::vector<CollectiveTime> time_collectives(int ranks, double seconds);

}  // namespace partita
