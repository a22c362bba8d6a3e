#pragma once
// The links between ranks of one host, from times of collectives.

#include "calibrate/collective_times.h"
#include "planner/cluster/cluster.h"

namespace partita {

/// `cluster`, of one protocol and one level, with the overhead, latency, bandwidths and shares by kind of collective
/// with which these times are met best.
Cluster fit_links(Cluster cluster, const std::vector<CollectiveTime>& times);

/// The seconds of one of them by the model.
double predicted_seconds(const Cluster& cluster, const CollectiveTime& time);

}  // namespace partita
