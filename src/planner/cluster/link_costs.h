#pragma once
// The costs of resharding on a cluster.

#include "ir/sharding/move.h"
#include "planner/cluster/place.h"

namespace partita {

/// Seconds per message and per byte over each sub-axis of a mesh whose ranks begin at `first_rank`. They are a linear
/// fit through all-gathers of 1 and 64 MiB over that axis alone. `Resharder(mesh, link_costs(..))` then finds the
/// fastest sequence of moves. An axis of micro-batches costs as much as the slowest axis, so that no sequence takes a
/// detour over it. Throws InvalidArgument if the cluster has too few ranks.
LinkCosts link_costs(const Mesh& mesh, int64_t first_rank, const Cluster& cluster);

}  // namespace partita
