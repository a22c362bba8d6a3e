#pragma once
// Measures how far the clock of a rank is from that of the first rank.

#include <functional>

#include "runtime/comm/communicator.h"

namespace partita {

struct ClockOffset {
  int64_t at = 0;      // time of the comparison on this rank's clock, in nanoseconds
  int64_t offset = 0;  // nanoseconds to add to this rank's clock
  int64_t error = 0;   // upper bound on the error of `offset` in nanoseconds, without the drift of clocks
};

/// Returns the nanoseconds to add to this rank's clock to get that of rank 0, when they were compared, and an upper
/// bound on the error; 0 on rank 0, which answers the others. Each rank asks it for its time and assumes that the reply
/// was sent midway between request and response (Cristian, "Probabilistic clock synchronization", 1989). The shortest
/// of several rounds counts. `now` returns nanoseconds of this rank's clock. A collective call over `comm`. Throws
/// RankFailures.
ClockOffset clock_offset(Communicator& comm, const std::function<int64_t()>& now);

/// Converts a time of this rank's clock, in nanoseconds, to rank 0's clock: adds the offset interpolated linearly
/// between two comparisons, also beyond them, or that of `first` if both were made at the same time.
int64_t aligned_time(int64_t time, const ClockOffset& first, const ClockOffset& last);

}  // namespace partita
