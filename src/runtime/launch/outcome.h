#pragma once
// How a job that every rank runs by itself ended, and what the ranks agree on.

#include <functional>
#include <string>

#include "base/error.h"
#include "runtime/comm/communicator.h"

namespace partita {

struct RankOutcome {
  ExitCode code = ExitCode::ok;
  std::string error{};
  bool is_good() const { return code == ExitCode::ok; }
};

/// Runs `job` and returns how it ended: ok, or the code and text of what it threw. The code is that of an Error,
/// out_of_memory for std::bad_alloc, internal for another std::exception. Passes on whatever else it throws.
RankOutcome outcome_of(const std::function<void()>& job);

/// Returns the outcome of the lowest rank that failed, or a good one; the same on all ranks. Error texts are cut to
/// 1024 bytes. A collective call. Throws RankFailures.
RankOutcome agreed(const RankOutcome& own, Communicator& comm);

}  // namespace partita
