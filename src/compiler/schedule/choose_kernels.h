#pragma once
// The first pass of scheduling: instructions in order, with kernels, memory formats and buffers, not yet placed.

#include <optional>

#include "compiler/schedule/schedule.h"

namespace partita {

/// Per state of a local graph: how it lies where another program holds it; none: it is in the arena.
using ExternalStates = std::vector<std::optional<MemoryFormat>>;

/// Walks the local graph; a kernel is one for the shards of all ranks. A parameter lies in the memory format
/// that its first kernel prefers; a value in another memory format than a kernel needs is reordered once.
/// Nodes of the update come last; `begins` is set.
/// A state with a format of its own in `external` lies in it.
Schedule choose_kernels(const LocalGraph& local, const OpSet& ops, const KernelCatalog& catalog,
                        const ExternalStates& external = {});

}  // namespace partita
