#pragma once
// Runs one function on every rank of an in-process world.

#include <functional>

#include "runtime/comm/communicator.h"
#include "runtime/comm/flight_record.h"

namespace partita {

/// Runs `fn` on `size` threads, one per rank, or on this thread for a single rank. Returns when all have ended. If `fn`
/// throws on a rank, the others leave their communication with the message "rank R: ..." and the same exit code.
/// `records` are passed to make_inproc_world; each also gets the error of its rank. Rethrows the first error. Throws
/// InvalidArgument unless `size` is from 1 to kMaxThreadRanks, RuntimeFailure(out_of_memory) if a thread cannot be
/// started.
void run_ranks(int size, const std::function<void(Communicator&)>& fn, const FlightRecords& records = {});

}  // namespace partita
