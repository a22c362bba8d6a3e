#pragma once
// First pass of scheduling: instructions in order, with kernels, memory formats and buffers that are not yet placed.

#include <optional>

#include "compiler/schedule/schedule.h"

namespace partita {

/// Per state of a local graph: its memory format in the program that holds it; none: it is in the arena.
using ExternalStates = std::vector<std::optional<MemoryFormat>>;

/// Returns the schedule before packing, overlap and placement, with `begins` set. One kernel serves the shards of all
/// ranks.
/// A parameter is in the memory format that its first kernel prefers, unless `external` gives it one. A value is
/// reordered once for each other memory format that kernels need.
/// Throws InvalidArgument if the device has no kernel for a node, none that serves the shards of all ranks, or none
/// that adds up micro-batches in place. Throws what `catalog` throws, such as RuntimeFailure(out_of_memory).
Schedule choose_kernels(const LocalGraph& local, const OpSet& ops, const KernelCatalog& catalog,
                        const ExternalStates& external = {});

}  // namespace partita
