#pragma once
// Runs ranks as threads of this process or, when a launcher started several processes, one rank in each.

#include <functional>

#include "runtime/launch/place.h"

namespace partita {

/// Calls `fn`; when it throws, aborts the world with "rank R: ..." and the exit code of the error, so that no other
/// process waits for this one, and throws it on, unless the abort ends the process.
void run_process(Communicator& world, const std::function<void(Communicator&)>& fn);

/// Runs `fn` on each of `ranks` ranks: one alone and threads in this process, otherwise the processes that the launcher
/// started. Throws what `fn` throws on the first rank that fails, and RuntimeFailure(out_of_memory) when the threads
/// cannot be started: `threads` that compute for each rank, and those that read and communicate.
void run_on_ranks(const Place& place, int ranks, int threads, const std::function<void(Communicator&)>& fn);

}  // namespace partita
