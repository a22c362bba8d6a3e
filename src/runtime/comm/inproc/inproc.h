#pragma once
// Ranks as threads of one process.

#include "runtime/comm/communicator.h"
#include "runtime/comm/flight_record.h"

namespace partita {

/// The communicators of a world of `size` ranks, one per rank thread. `records`: where the calls of each are written
/// down; none without them.
std::vector<std::unique_ptr<Communicator>> make_inproc_world(int size, const FlightRecords& records = {});

}  // namespace partita
