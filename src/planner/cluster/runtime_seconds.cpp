#include "planner/cluster/runtime_seconds.h"

#include <algorithm>
#include <cmath>

#include "base/rank_limit.h"
#include "planner/cluster/crossed_levels.h"

namespace partita {
namespace {

bool has(const SoftwareCosts& software, CollectiveAlgorithm algorithm) {
  return std::find(software.algorithms.begin(), software.algorithms.end(), algorithm) != software.algorithms.end();
}

/// Prices the algorithms for one group and one protocol.
class RuntimePricing {
 public:
  RuntimePricing(const GroupPlace& place, const Cluster& cluster, size_t protocol)
      : place_(place),
        cluster_(cluster),
        protocol_(protocol),
        spread_(spread_of(place, cluster)),
        levels_(crossed_levels(place, cluster, protocol)) {}

  const RankSpread& spread() const { return spread_; }

  double seconds(CollectiveAlgorithm algorithm, Collective kind, double bytes) const {
    const CollectiveTraffic traffic = traffic_of(algorithm, kind, bytes, spread_);
    const int64_t ranks = spread_.max_per_host, cores = cluster_.cores > 0 ? cluster_.cores : ranks;
    const double meeting = cluster_.levels[0].latency[protocol_] * static_cast<double>(ranks - 1);
    const double turn = cluster_.software.switch_overhead * static_cast<double>(std::max<int64_t>(0, ranks - cores));
    const double copied = (traffic.read + traffic.written) / 2;
    return cluster_.protocols[protocol_].overhead + traffic.meetings * meeting + traffic.turns * turn +
           copied / copy_rate(algorithm == CollectiveAlgorithm::last_rank) +
           (traffic.steps > 0 ? message_seconds(algorithm, kind, bytes, traffic) : 0);
  }

 private:
  /// Returns the bytes/s at which a rank copies in the memory of its host while all others do or, if `alone`, while one
  /// rank of each group does.
  double copy_rate(bool alone) const {
    const LinkLevel& memory = cluster_.levels[0];
    const LinkProtocol& protocol = cluster_.protocols[protocol_];
    double rate = memory.bandwidth * protocol.bandwidth_share;
    if (protocol.max_bandwidth > 0) rate = std::min(rate, protocol.max_bandwidth);
    if (memory.total_bandwidth == 0) return rate;
    const bool is_near = place_.crossing[0] > 0;
    const int64_t groups = is_near ? place_.crossing[0] : place_.sharing[levels_.front().level];
    const int64_t busy = groups * (is_near && !alone ? place_.members[0] : 1);
    return std::min(rate, memory.total_bandwidth / static_cast<double>(std::max<int64_t>(1, busy)));
  }

  /// Returns the seconds of the messages of a call: their latencies, the bytes on the slowest level, and those that are
  /// on their way before the last host has any.
  double message_seconds(CollectiveAlgorithm algorithm, Collective kind, double bytes,
                         const CollectiveTraffic& traffic) const {
    double latency = 0, slowest = 0, way = 0;
    for (size_t i = 0; i < levels_.size(); ++i) {
      const Crossed& level = levels_[i];
      const bool within_host = level.level == 0;
      if (within_host && !sends_within_hosts(algorithm)) continue;
      latency += latency_of(algorithm, i, traffic);
      slowest = std::max(slowest, sent_over(algorithm, kind, bytes, level) / level.bandwidth);
      way = std::max(way, traffic.first / level.bandwidth);
    }
    return latency + slowest + std::max(0.0, traffic.steps - 1) * way;
  }

  static bool sends_within_hosts(CollectiveAlgorithm algorithm) {
    return algorithm == CollectiveAlgorithm::exchange || algorithm == CollectiveAlgorithm::dissemination;
  }

  /// Returns the bytes that leave a part of a level.
  double sent_over(CollectiveAlgorithm algorithm, Collective kind, double bytes, const Crossed& level) const {
    const int64_t inner = std::min(static_cast<int64_t>(level.inner), place_.ranks - 1);
    const RankSpread parts{.ranks = place_.ranks,
                           .hosts = std::max<int64_t>(2, place_.ranks / inner),
                           .min_per_host = inner,
                           .max_per_host = inner};
    const double sent = traffic_of(algorithm, kind, bytes, parts).sent;
    // Messages to ranks of other hosts do not use the links within a host.
    if (level.level == 0) return sent * (level.parts - 1) / static_cast<double>(place_.ranks - 1);
    // Each host of a part receives every byte.
    if (algorithm != CollectiveAlgorithm::host_shares) return sent;
    return sent * std::max(1.0, level.inner / static_cast<double>(spread_.max_per_host));
  }

  /// Returns the seconds of the latencies at level number `i` of those that are crossed.
  double latency_of(CollectiveAlgorithm algorithm, size_t i, const CollectiveTraffic& traffic) const {
    const Crossed& level = levels_[i];
    const auto at_once = static_cast<double>(cluster_.software.messages_at_once);
    const auto per_host = static_cast<double>(spread_.max_per_host);
    switch (algorithm) {
      case CollectiveAlgorithm::dissemination: return rounds(level.parts) * level.latency;
      case CollectiveAlgorithm::host_shares: {
        return std::ceil(std::max(1.0, level.inner / per_host) * (level.parts - 1) / at_once) * level.latency;
      }
      case CollectiveAlgorithm::chain: {  // the hops between hosts that cross this level and no outer one
        const auto parts_of = [&](size_t of) {
          return of < levels_.size() ? static_cast<double>(place_.ranks) / levels_[of].inner : 1;
        };
        const double hops = std::max(1.0, parts_of(i) - parts_of(i + 1));
        return hops * traffic.steps / std::max(1.0, static_cast<double>(spread_.hosts - 1)) * level.latency;
      }
      default: return traffic.steps * std::ceil(level.inner * (level.parts - 1) / at_once) * level.latency;
    }
  }

  const GroupPlace& place_;
  const Cluster& cluster_;
  const size_t protocol_;
  const RankSpread spread_;
  const std::vector<Crossed> levels_;
};

}  // namespace

RankSpread spread_of(const GroupPlace& place, const Cluster& cluster) {
  RankSpread spread{.ranks = place.ranks, .min_per_host = place.ranks, .max_per_host = place.ranks};
  size_t outer = 0;  // the innermost crossed level between hosts
  for (size_t l = place.members.size(); l-- > 1;) {
    spread.hosts *= place.members[l];
    if (place.members[l] > 1) outer = l;
  }
  if (outer > 0) {
    spread.min_per_host = place.inside[outer];
    spread.max_per_host = place.members[0];
  }
  const int64_t ranks = cluster.ranks();
  const bool is_one_host = ranks == cluster.levels[0].size;
  spread.are_threads = is_one_host && ranks <= kMaxThreadRanks && has(cluster.software, CollectiveAlgorithm::direct);
  spread.have_cores = cluster.cores == 0 || place.ranks <= cluster.cores;
  return spread;
}

std::optional<RuntimeSeconds> runtime_seconds(Collective kind, double bytes, double share, DType dtype,
                                              const GroupPlace& place, const Cluster& cluster, size_t protocol) {
  const std::vector<CollectiveAlgorithm>& listed = cluster.software.algorithms;
  if (std::none_of(listed.begin(), listed.end(), is_of_runtime)) return std::nullopt;
  const RuntimePricing pricing(place, cluster, protocol);
  const AlgorithmChoice choice = choose_algorithm(kind, dtype, pricing.spread(), listed);
  RuntimeSeconds result{choice.of(bytes)};
  result.seconds = pricing.seconds(result.algorithm, kind, bytes / share);
  if (bytes < choice.threshold) {
    result.seconds = std::min(result.seconds, pricing.seconds(choice.large, kind, choice.threshold / share));
  }
  return result;
}

}  // namespace partita
