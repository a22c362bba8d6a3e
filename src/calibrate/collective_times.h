#pragma once
// Times of collectives between ranks that are threads of this process.

#include <vector>

#include "base/collective.h"

namespace partita {

/// Time of one collective. `bytes` as in planner/cluster/collective_seconds.h.
struct CollectiveTime {
  Collective kind = Collective::all_reduce;
  int ranks = 2;
  double bytes = 0;
  double seconds = 0;
};

/// Times all_reduce, all_gather, reduce_scatter and all_to_all of 1 KiB to 8 MiB between `ranks` threads; one result
/// per size and collective, the smallest size first. Each is called until its calls have taken `seconds`, 5 to 200
/// times. A call lasts from the first rank's start to the last rank's end; the result is the median of the calls. Every
/// rank writes its buffer before a call, as a training does. Throws RuntimeFailure(out_of_memory) if a thread cannot be
/// started, and InvalidArgument unless `ranks` is 1 to kMaxThreadRanks.
std::vector<CollectiveTime> time_collectives(int ranks, double seconds);

}  // namespace partita
