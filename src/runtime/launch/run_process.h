#pragma once
// Runs ranks as threads of this process or, if a launcher started several processes, one rank in each.

#include <functional>

#include "runtime/launch/place.h"

namespace partita {

/// Calls `fn`. If it throws, aborts the world with "rank R: ..." and the error's exit code, so that no other process
/// waits for this one, and rethrows the error unless the abort ends the process.
void run_process(Communicator& world, const std::function<void(Communicator&)>& fn);

/// Runs `fn` on each of `ranks` ranks: threads of this process, or the processes that the launcher started. `threads`
/// is the number of compute threads per rank. Rethrows the error of the first rank that fails. Throws
/// RuntimeFailure(out_of_memory) if the threads cannot be started: compute threads, and those that read and
/// communicate. Throws what open_flight_records, make_inproc_world and process_world throw.
void run_on_ranks(const Place& place, int ranks, int threads, const std::function<void(Communicator&)>& fn);

}  // namespace partita
