#pragma once
// The parts of a cluster that have work.

#include <map>
#include <memory>

#include "planner/pricing/layers/places.h"

namespace partita {

/// A part of a cluster whose ranks all have work, with its device and placements.
struct BusyRanks {
  explicit BusyRanks(Cluster part) : cluster(std::move(part)), device(cluster.rank_device()), places(cluster) {}
  BusyRanks(const BusyRanks&) = delete;  // `places` refers to the cluster

  const Cluster cluster;
  const DeviceSpec device;  // device of a rank, while all ranks of the part are busy
  Places places;
};

/// The parts of a cluster by their number of busy ranks, made on demand. If each rank has its own device, ranks without
/// work do not affect the others, and the only part is the whole cluster. If ranks share cores, each number of busy
/// ranks has its own part.
class BusyParts {
 public:
  /// The cluster must outlive this object.
  explicit BusyParts(const Cluster& cluster) : cluster_(cluster) {}

  /// The number of the part with this many busy ranks; 0, the whole cluster, if each rank has its own device.
  int64_t number_of(int64_t ranks) const { return cluster_.cores > 0 ? ranks : 0; }
  /// The part with a number from `number_of`. It lives as long as this object. Throws InvalidArgument if there cannot
  /// be as many ranks.
  BusyRanks& of(int64_t number) {
    std::unique_ptr<BusyRanks>& cached = cache_[number];
    if (!cached) cached = std::make_unique<BusyRanks>(number > 0 ? resized(cluster_, number) : cluster_);
    return *cached;
  }

 private:
  const Cluster& cluster_;
  std::map<int64_t, std::unique_ptr<BusyRanks>> cache_;
};

}  // namespace partita
