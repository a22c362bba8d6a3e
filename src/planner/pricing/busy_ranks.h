#pragma once
// The part of a cluster that has work.

#include <map>
#include <memory>

#include "planner/pricing/places.h"

namespace partita {

struct BusyRanks {
  explicit BusyRanks(Cluster part) : cluster(std::move(part)), device(cluster.rank_device()), places(cluster) {}
  BusyRanks(const BusyRanks&) = delete;  // `places` refers to the cluster

  const Cluster cluster;
  const DeviceSpec device;  // of a rank, while all of these are busy
  Places places;
};

/// Ranks without work change nothing for the others where each has a device of its own, so that there is one part, the
/// whole cluster. Of ranks that take turns on cores each number of them is a part of its own.
class BusyParts {
 public:
  /// The cluster outlives this.
  explicit BusyParts(const Cluster& cluster) : cluster_(cluster) {}

  /// What tells the part for so many busy ranks from others: 0 for the whole cluster.
  int64_t number_of(int64_t ranks) const { return cluster_.cores > 0 ? ranks : 0; }
  BusyRanks& of(int64_t number) {
    std::unique_ptr<BusyRanks>& known = known_[number];
    if (!known) known = std::make_unique<BusyRanks>(number > 0 ? resized(cluster_, number) : cluster_);
    return *known;
  }

 private:
  const Cluster& cluster_;
  std::map<int64_t, std::unique_ptr<BusyRanks>> known_;
};

}  // namespace partita
