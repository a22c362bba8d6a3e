#include "planner/cluster/collective_seconds.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "planner/cluster/compute_seconds.h"
#include "planner/cluster/crossed_levels.h"
#include "planner/cluster/runtime_seconds.h"

namespace partita {
namespace {

/// Returns the seconds of one pass of `bytes`, the whole buffer, around a ring through all ranks. Each rank sends
/// `bytes` * (ranks - 1) / ranks. As many bytes leave each part of every level, since the ring leaves each part once.
/// The slowest level limits the bandwidth.
double ring_pass(const std::vector<Crossed>& levels, double ranks, double bytes) {
  const double passed_on = (ranks - 1) / ranks;
  double seconds = 0, hops = 0, slowest = 0;
  for (auto level = levels.rbegin(); level != levels.rend(); ++level) {
    const double reached = level + 1 == levels.rend() ? ranks - 1 : ranks / level->inner - 1;
    seconds += std::max(0.0, reached - hops) * level->latency;
    hops = std::max(hops, reached);
    slowest = std::max(slowest, passed_on / level->bandwidth + level->copy);
  }
  return seconds + bytes * slowest;
}

/// Seconds of a reduction up and down two binary trees over the outer parts, each with half of the bytes (Sanders,
/// Speck, Traff, 2009), and along chains of the ranks of a node. With two parts, each sends its half once; with more, a
/// part sends its bytes twice. `share` is the part of the bandwidth that trees reach.
double tree_reduce(const std::vector<Crossed>& levels, double bytes, double share) {
  double seconds = 0, slowest = 0;
  for (const Crossed& level : levels) {
    const bool chain = level.level == 0;
    seconds += 2 * (chain ? level.parts - 1 : rounds(level.parts)) * level.tree_latency;
    const double wire = !chain && level.parts == 2 ? 1 : 2;
    slowest = std::max(slowest, wire / (level.bandwidth * share) + 2 * level.copy);
  }
  return seconds + bytes * slowest;
}

/// Returns the seconds of a reduction of `bytes` per rank in the network. The innermost switch reduces and multicasts:
/// each rank sends its bytes and receives the reduced ones. Outer levels use trees, which reach the part `share` of the
/// bandwidth.
double network_reduce(const std::vector<Crossed>& levels, double bytes, double share) {
  const Crossed& inner = levels.front();
  const double within = bytes * (1 + 1 / inner.parts) / inner.reduce;
  if (levels.size() == 1) return 2 * inner.latency + within;
  const std::vector<Crossed> outer(levels.begin() + 1, levels.end());
  const double latency = tree_reduce(outer, 0, share);
  return 2 * inner.latency + latency + std::max(within, tree_reduce(outer, bytes, share) - latency);
}

/// Seconds of scattering inside, passing each part around outside, and gathering inside, one after the other. `passes`
/// is 2 to reduce and gather, 1 for one of them.
double hierarchical_pass(const std::vector<Crossed>& levels, double bytes, double passes) {
  double seconds = 0, inner = 1;
  for (const Crossed& level : levels) {
    const double links = level.bandwidth / level.inner;  // bytes/s of one member
    seconds += passes * ((level.parts - 1) * level.latency + (level.parts - 1) / level.parts * bytes / inner / links);
    inner *= level.parts;
  }
  return seconds;
}

/// Returns the seconds of an all-to-all of `ranks` ranks, each with a buffer of `bytes` for all and `at_once`
/// concurrent messages. Messages within the innermost crossed level use its links, the others the links out of the
/// parts of the outer levels.
double exchange_all(const std::vector<Crossed>& levels, double ranks, double bytes, double at_once) {
  double seconds = 0, slowest = 0;
  for (const Crossed& level : levels) {
    const double peers = level.inner * (level.parts - 1);
    seconds += std::ceil(peers / at_once) * level.latency;
    const bool innermost = level.level == levels.front().level;
    const double leaving = innermost ? peers / ranks : level.inner * (ranks - level.inner) / ranks;
    slowest = std::max(slowest, leaving / level.bandwidth);
  }
  return seconds + bytes * slowest;
}

/// Returns the seconds of a message of `bytes` from each rank to one other. If `every`, the messages of all members of
/// a part leave it and share its bandwidth, else one message does.
double send_message(const std::vector<Crossed>& levels, double bytes, bool every) {
  double slowest = 0;
  for (const Crossed& level : levels) slowest = std::max(slowest, (every ? level.inner : 1) / level.bandwidth);
  return levels.back().latency + bytes * slowest;
}

double broadcast_all(const std::vector<Crossed>& levels, double bytes) {
  double seconds = 0, slowest = 0;
  for (const Crossed& level : levels) {
    seconds += rounds(level.parts) * level.latency;
    slowest = std::max(slowest, 1 / level.bandwidth);
  }
  return seconds + bytes * slowest;
}

/// Returns the seconds of an all-reduce, reduce-scatter, all-gather or barrier without the overhead of the protocol.
/// None if the algorithm does not support the kind: trees and reductions in the network only support all-reduce and
/// barrier, and reductions in the network only if the innermost crossed level can reduce.
std::optional<double> reduction_seconds(CollectiveAlgorithm algorithm, Collective kind, double bytes,
                                        const std::vector<Crossed>& levels, double ranks, const Cluster& cluster) {
  const bool all = kind == Collective::all_reduce || kind == Collective::barrier;
  const double passes = all ? 2 : 1, share = cluster.software.tree_share;
  switch (algorithm) {
    case CollectiveAlgorithm::ring: return passes * ring_pass(levels, ranks, bytes);
    case CollectiveAlgorithm::hierarchical: return hierarchical_pass(levels, bytes, passes);
    case CollectiveAlgorithm::tree: return all ? std::optional(tree_reduce(levels, bytes, share)) : std::nullopt;
    default: break;
  }
  const bool can = all && levels.front().reduce > 0;
  return can ? std::optional(network_reduce(levels, bytes, share)) : std::nullopt;
}

bool has_algorithms(Collective kind) {
  return kind == Collective::all_reduce || kind == Collective::reduce_scatter || kind == Collective::all_gather ||
         kind == Collective::barrier;
}

double other_seconds(Collective kind, double bytes, const std::vector<Crossed>& levels, double ranks,
                     const Cluster& cluster) {
  switch (kind) {
    case Collective::all_to_all:
      return exchange_all(levels, ranks, bytes, static_cast<double>(cluster.software.messages_at_once));
    case Collective::permute: return send_message(levels, bytes, /*every=*/true);
    case Collective::broadcast: return broadcast_all(levels, bytes);
    default: return send_message(levels, bytes, /*every=*/false);
  }
}

/// Returns the measured speed of a collective as a share of the speed that the links suggest, interpolated over ranks
/// and bytes; 1 without measurements of the kind, or if the group leaves the innermost level.
double measured_share(Collective kind, double bytes, const GroupPlace& place, const Cluster& cluster) {
  const auto found = cluster.software.measured.find(kind);
  if (found == cluster.software.measured.end() || place.members[0] != place.ranks) return 1;
  Curve by_ranks;
  for (const GroupShares& group : found->second)
    by_ranks.push_back({static_cast<double>(group.ranks), share_at(group.shares, bytes)});
  return share_at(by_ranks, static_cast<double>(place.ranks));
}

bool is_free(Collective kind) { return is_local(kind) || kind == Collective::split || kind == Collective::leave; }

}  // namespace

std::vector<CollectiveOption> collective_options(Collective kind, double bytes, const GroupPlace& place,
                                                 const Cluster& cluster, DType dtype) {
  std::vector<CollectiveOption> options;
  if (is_free(kind) || place.ranks == 1) return options;
  const double ranks = static_cast<double>(place.ranks);
  const double reached = measured_share(kind, bytes, place, cluster);
  const auto found = cluster.software.link_share.find(kind);
  const double share = found == cluster.software.link_share.end() ? 1 : found->second;
  const std::vector<CollectiveAlgorithm>& listed = cluster.software.algorithms;
  const bool has_library = !std::all_of(listed.begin(), listed.end(), is_of_runtime);
  const bool is_message = kind == Collective::send || kind == Collective::recv;
  for (size_t p = 0; p < cluster.protocols.size(); ++p) {
    const std::vector<Crossed> levels = crossed_levels(place, cluster, p);
    if (levels.empty()) return options;  // between parts of one rank
    const double overhead = cluster.protocols[p].overhead;
    if (!is_message) {
      if (const auto one = runtime_seconds(kind, bytes, share, dtype, place, cluster, p))
        options.push_back({one->algorithm, p, one->seconds / reached});
    }
    if (is_message || (has_library && !has_algorithms(kind))) {
      options.push_back(
          {std::nullopt, p, (overhead + other_seconds(kind, bytes / share, levels, ranks, cluster)) / reached});
      continue;
    }
    for (const CollectiveAlgorithm algorithm : listed) {
      if (is_of_runtime(algorithm)) continue;
      const auto seconds = reduction_seconds(algorithm, kind, bytes / share, levels, ranks, cluster);
      if (seconds) options.push_back({algorithm, p, (overhead + *seconds) / reached});
    }
  }
  return options;
}

double seconds_of(Collective kind, double bytes, const GroupPlace& place, const Cluster& cluster, DType dtype) {
  const std::vector<CollectiveOption> options = collective_options(kind, bytes, place, cluster, dtype);
  double least = options.empty() ? 0 : std::numeric_limits<double>::infinity();
  for (const CollectiveOption& option : options) least = std::min(least, option.seconds);
  return least;
}

std::optional<CollectiveAlgorithm> algorithm_of(Collective kind, double bytes, const GroupPlace& place,
                                                const Cluster& cluster, DType dtype) {
  const std::vector<CollectiveOption> options = collective_options(kind, bytes, place, cluster, dtype);
  const auto fastest = std::min_element(options.begin(), options.end(),
                                        [](const auto& a, const auto& b) { return a.seconds < b.seconds; });
  return fastest == options.end() ? std::nullopt : fastest->algorithm;
}

}  // namespace partita
