#pragma once
// What a command does to its process before a job runs in it.

#include "cli/console.h"
#include "job/config.h"

namespace partita {

/// Once, before anything is printed: may start the program anew so that waiting threads sleep (see cli/waiting.h),
/// warns of more threads than cores, and says which ranks print. Keep the result while the job runs.
std::unique_ptr<Console> prepare_process(const JobConfig& config, const Place& place);

}  // namespace partita
