#pragma once
// Ranks as threads of one process.

#include "runtime/comm/communicator.h"
#include "runtime/comm/flight_record.h"

namespace partita {

/// Makes the communicators of a world of `size` ranks, one per rank, each for a thread of its own. The calls of rank r
/// are written to `records[r]`; no records are kept if `records` is empty. Throws InvalidArgument unless `size` is from
/// 1 to kMaxThreadRanks.
std::vector<std::unique_ptr<Communicator>> make_inproc_world(int size, const FlightRecords& records = {});

}  // namespace partita
