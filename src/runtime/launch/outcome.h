#pragma once
// How something ended that every rank does by itself, and what ranks make of it together.

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

/// Of a job that throws when it fails.
RankOutcome outcome_of(const std::function<void()>& job);

/// That of the first rank that failed, or a good one; the same on all ranks, which all take part.
RankOutcome agreed(const RankOutcome& own, Communicator& comm);

}  // namespace partita
