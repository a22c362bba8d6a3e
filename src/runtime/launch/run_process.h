#pragma once
// Runs ranks as threads of this process or, if a launcher started several processes, one rank in each.

#include <functional>

#include "runtime/launch/place.h"

namespace partita {

/// Calls `fn(world)`. If it throws, aborts the world with "rank R: ..." and the error's exit code (out_of_memory for
/// std::bad_alloc, internal for another std::exception), so that no other process waits for this one, and rethrows the
/// error unless the abort ends the process. A rank other than 0 waits 0.8 seconds before that, unless a peer was lost
/// or stalled.
void run_process(Communicator& world, const std::function<void(Communicator&)>& fn);

/// Runs `fn` on each of `ranks` ranks: on this thread for one rank, as this process's rank if the launcher started
/// several processes, else on a thread per rank. `threads` is the number of compute threads per rank. Rethrows the
/// error of the first rank that fails. Throws RuntimeFailure(out_of_memory) if the threads cannot be started (compute
/// threads, and those that read and communicate), RuntimeFailure(cannot_write) if a record of calls cannot be written,
/// RuntimeFailure if processes do not find one another, and InvalidArgument for more than kMaxThreadRanks threads of
/// ranks. Throws InvalidArgument, MissingFile or InvalidFile if what a launcher gives (variables, rank table, secret)
/// is missing or invalid.
void run_on_ranks(const Place& place, int ranks, int threads, const std::function<void(Communicator&)>& fn);

}  // namespace partita
