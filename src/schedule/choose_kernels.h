#pragma once
// The first pass of scheduling: instructions in order, with kernels, memory formats and buffers, not yet placed.

#include "schedule/schedule.h"

namespace partita {

/// Walks the local graph; a kernel is one for the shards of all ranks. A parameter lies in the memory format
/// that its first kernel prefers; a value in another memory format than a kernel needs is reordered once.
/// Nodes of the update come last; `begins` is set.
/// An input that another stage sends has the copies that `in_flight` says.
Schedule choose_kernels(const LocalGraph& local, const OpSet& ops, const KernelCatalog& catalog,
                        const InFlight& in_flight = {});

}  // namespace partita
