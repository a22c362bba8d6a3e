#pragma once
// Links between ranks of one host, fitted to times of collectives.

#include "calibrate/collective_times.h"
#include "planner/cluster/cluster.h"

namespace partita {

/// Returns `cluster`, which has one protocol and one level, with the overheads, latency, bandwidths and shares by kind
/// of collective with which the formulas of its algorithms fit the times best, and with the shares of the predicted
/// speed that the times reach, by kind, number of ranks and bytes (`software.measured`).
Cluster fit_links(Cluster cluster, const std::vector<CollectiveTime>& times);

/// Returns the seconds that the cluster's model predicts for the collective of `time`, whose own `seconds` are ignored.
double predicted_seconds(const Cluster& cluster, const CollectiveTime& time);

/// Errors of predictions, as shares of the measured times.
struct CollectiveErrors {
  double mean = 0, most = 0;
};
/// Returns how far the predictions of the cluster's model are from the times.
CollectiveErrors collective_errors(const Cluster& cluster, const std::vector<CollectiveTime>& times);

}  // namespace partita
