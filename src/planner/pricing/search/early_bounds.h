#pragma once
// Lower bounds of the time of a step that place no single group of stages and need no order: they are cheap, so that
// most configurations of a search are left out by them.

#include "planner/cluster/cluster.h"
#include "planner/pricing/layers/configuration.h"
#include "planner/pricing/layers/layer_seconds.h"

namespace partita {

/// Seconds of all layers per row of a rank's micro-batch, forward and backward.
struct RowSeconds {
  double all = 0;
  double weights = 0;        // part of `all` that makes only gradients of parameters
  double forward_share = 1;  // smallest share of the forward pass in the seconds of a layer
};

/// Seconds in which the ranks that share the batch send the parameters of all layers once, one layer after the other.
/// Where groups of stages have different placements, each layer has its fastest.
struct LayerMessages {
  double all_reduce = 0, reduce_scatter = 0;  // messages of gradients
  double all_gather = 0;                      // messages of parameters
};

/// Each returns a lower bound of the seconds of a step of the configuration in `rounds` micro-batches, for any
/// recomputation.

/// A micro-batch passes all layers, and the groups of stages have to fill and to drain. Holds for any assignment of
/// layers and any level of optimizer sharding.
double filling_bound(const Configuration& configuration, int64_t rounds, const RowSeconds& rows);
/// The slowest group takes at least the average of all groups. Each runs its sections, waits for its transfers and
/// messages where the software does, and is slowed down by others (StepBound). Holds for any assignment of layers.
double mean_group_bound(const Configuration& configuration, int64_t rounds, const RowSeconds& rows,
                        const LayerMessages& messages, const Cluster& cluster);
/// Each group runs its sections between those of earlier groups. Holds for any level of optimizer sharding; `layers`
/// are recomputed as the configuration says, or not at all.
double layout_bound(const Configuration& configuration, int64_t rounds, LayerSeconds& layers, const Cluster& cluster);

}  // namespace partita
