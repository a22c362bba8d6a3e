#pragma once
// Runs one function on every rank of an in-process world.

#include <functional>

#include "runtime/comm/communicator.h"
#include "runtime/comm/flight_record.h"

namespace partita {

/// Runs `fn` on `size` threads, one per rank, or on this one for a single rank, and returns when all have. When `fn`
/// throws on a rank, the others leave their communication with "rank R: ..." and the same exit code; the first error is
/// then thrown as it was. `records`: as those of make_inproc_world; why a rank ends is in its own.
void run_ranks(int size, const std::function<void(Communicator&)>& fn, const FlightRecords& records = {});

}  // namespace partita
