#include "planner/cluster/crossed_levels.h"

#include <algorithm>
#include <cmath>

namespace partita {
namespace {

double bandwidth_of(const LinkLevel& level, size_t l, const GroupPlace& place, const LinkProtocol& protocol) {
  const double sharing = std::max<double>(1, static_cast<double>(place.sharing[l]));
  const double links = std::min(static_cast<double>(place.inside[l]), static_cast<double>(level.links) / sharing);
  double bandwidth = level.bandwidth * links * protocol.bandwidth_share;
  if (!level.share_by_members.empty()) bandwidth *= level.share_by_members.at(place.members[l] - 2);
  if (level.total_bandwidth > 0) {
    const double senders = std::max<double>(1, static_cast<double>(place.crossing[l] * place.members[l]));
    bandwidth = std::min(bandwidth, level.total_bandwidth / senders);
  }
  return protocol.max_bandwidth > 0 ? std::min(bandwidth, protocol.max_bandwidth) : bandwidth;
}

}  // namespace

std::vector<Crossed> crossed_levels(const GroupPlace& place, const Cluster& cluster, size_t protocol) {
  std::vector<Crossed> crossed;
  double inner = 1;
  for (size_t l = 0; l < cluster.levels.size(); ++l) {
    if (place.members[l] == 1) continue;
    const LinkLevel& level = cluster.levels[l];
    const LinkProtocol& way = cluster.protocols[protocol];
    const std::vector<double>& trees = level.tree_latency.empty() ? level.latency : level.tree_latency;
    crossed.push_back({l, static_cast<double>(place.members[l]), inner, level.latency[protocol], trees[protocol],
                       bandwidth_of(level, l, place, way), level.reduce_bandwidth * way.bandwidth_share,
                       level.copy_bandwidth > 0 ? 1 / level.copy_bandwidth : 0});
    inner *= static_cast<double>(place.members[l]);
  }
  return crossed;
}

double rounds(double count) { return std::ceil(std::log2(count) - 1e-9); }

}  // namespace partita
