#pragma once
// What a command does to its process before a job runs in it.

#include "cli/console.h"
#include "job/config.h"
#include "launch/owner_lock.h"

namespace partita {

/// Resources that a process holds while its job runs.
struct PreparedProcess {
  std::optional<OwnerLock> flight_record;  // the lock of its own
  std::unique_ptr<Console> console;
};

/// Once, before anything is printed: warns of more threads than cores, and says which ranks print. Keep the result
/// while the job runs. Throws RuntimeFailure(cannot_write) for a log or a flight record that another job writes.
PreparedProcess prepare_process(const JobConfig& config, const Place& place);

}  // namespace partita
