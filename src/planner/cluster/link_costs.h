#pragma once
// What resharding costs on a cluster.

#include "ir/sharding/move.h"
#include "planner/cluster/place.h"

namespace partita {

/// Seconds of a message and of a byte over each sub-axis of a mesh whose ranks begin at `first_rank`, so that
/// `Resharder(mesh, link_costs(..))` finds the way that takes the least time: the line through all-gathers of 1 and 64
/// MiB over that axis alone. An axis of micro-batches costs as much as the slowest: no way takes a detour over it.
LinkCosts link_costs(const Mesh& mesh, int64_t first_rank, const Cluster& cluster);

}  // namespace partita
