#pragma once
// How far the clock of a rank is from that of the first rank.

#include <functional>

#include "runtime/comm/communicator.h"

namespace partita {

struct ClockOffset {
  int64_t at = 0;      // by this rank's clock
  int64_t offset = 0;  // nanoseconds to be added to this rank's clock
  int64_t error = 0;   // at most so many, the drift of clocks aside
};

/// Collective over `comm`. Each rank asks the first one for its time and takes the reply for the middle between asking
/// and hearing (Cristian, "Probabilistic clock synchronization", 1989); of several rounds the shortest counts. `now`
/// are nanoseconds of this rank's clock.
ClockOffset clock_offset(Communicator& comm, const std::function<int64_t()>& now);

/// A time of this rank's clock as one of the first rank's, between two comparisons along a line.
int64_t aligned_time(int64_t time, const ClockOffset& first, const ClockOffset& last);

}  // namespace partita
