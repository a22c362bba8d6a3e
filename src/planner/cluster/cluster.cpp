#include "planner/cluster/cluster.h"

#include <algorithm>
#include <utility>

#include "ir/sharding/mesh.h"

namespace partita {

int64_t Cluster::ranks() const {
  int64_t ranks = 1;
  for (const LinkLevel& level : levels) ranks *= level.size;
  return ranks;
}

double Cluster::ranks_per_core() const {
  if (cores == 0 || levels.empty()) return 1;
  return static_cast<double>(levels[0].size) / static_cast<double>(cores);
}

DeviceSpec Cluster::rank_device() const {
  DeviceSpec mine = device;
  if (cores == 0 || levels.empty()) return mine;
  const int64_t sharers = levels[0].size, threads = std::max<int64_t>(1, cores / sharers);
  const double turns = std::max(1.0, ranks_per_core());
  const double busy = sharers > 1 ? busy_share : 1;
  const double speed = busy * (1 + thread_share * static_cast<double>(threads - 1)) / turns;
  for (auto& [dtype, peak] : mine.peak) peak *= speed;
  mine.launch_overhead *= turns;
  mine.memory_bandwidth *= speed;
  if (memory_bus > 0) {
    mine.memory_bandwidth = std::min(mine.memory_bandwidth, memory_bus / static_cast<double>(sharers));
  }
  return mine;
}

Cluster without_tf32(Cluster cluster) {
  const double rate = std::exchange(cluster.device.plain_f32, 0);
  if (rate > 0) cluster.device.peak[DType::f32] = rate;
  return cluster;
}

int64_t max_ranks(const Cluster& cluster) { return cluster.cores > 0 ? kMaxMeshRanks : cluster.ranks(); }

Cluster resized(Cluster cluster, int64_t ranks) {
  const int64_t most = max_ranks(cluster);
  if (ranks < 1 || ranks > most) {
    throw InvalidArgument("[cluster] bad number of ranks for {}, got {}, expected 1 to {}", cluster.name, ranks, most);
  }
  int64_t parts = ranks;
  for (size_t l = 0; l < cluster.levels.size(); ++l) {
    LinkLevel& level = cluster.levels[l];
    const bool outermost = l + 1 == cluster.levels.size();
    const int64_t size = outermost ? parts : std::min(level.size, parts);
    if (!level.share_by_members.empty()) {
      level.share_by_members.resize(static_cast<size_t>(size - 1), level.share_by_members.back());
    }
    level.size = size;
    parts = (parts + size - 1) / size;
  }
  return cluster;
}

}  // namespace partita
