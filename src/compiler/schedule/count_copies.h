#pragma once
// How many copies a stage of a pipeline keeps of each buffer.

#include "compiler/schedule/schedule.h"

namespace partita {

/// Sets the copies of every buffer that is made in one section of a micro-batch and read in another. Instructions are
/// in their final order.
void count_copies(Schedule& schedule, const LocalGraph& local, const InFlight& in_flight);

/// Throws InvalidArgument when a buffer of the stage has fewer copies than are in flight.
void require_copies(const Schedule& schedule, const LocalGraph& local, const InFlight& in_flight, int stage);

}  // namespace partita
