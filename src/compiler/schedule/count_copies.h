#pragma once
// Number of copies of each buffer that a pipeline stage keeps.

#include "compiler/schedule/schedule.h"

namespace partita {

/// Sets the number of copies of every buffer that is made in one section of a micro-batch and read in another, and of
/// every input that another stage sends, to the number of micro-batches in flight that `in_flight` gives for it. Does
/// nothing without stages. Instructions must be in their final order.
void count_copies(Schedule& schedule, const LocalGraph& local, const InFlight& in_flight);

/// Checks that each buffer of the stage has at least as many copies as `count_copies` would give it for `in_flight`.
/// Throws InvalidArgument, which names `stage`, otherwise. Without stages every buffer passes.
void require_copies(const Schedule& schedule, const LocalGraph& local, const InFlight& in_flight, int stage);

}  // namespace partita
