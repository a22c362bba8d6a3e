#include "calibrate/fit_links.h"

#include <algorithm>
#include <cmath>

#include "calibrate/minimise.h"
#include "planner/cluster/collective_seconds.h"

namespace partita {
namespace {

/// Collectives whose share of the links' bandwidth is fitted; all_reduce has a share of 1.
constexpr Collective kShared[] = {Collective::all_gather, Collective::reduce_scatter, Collective::all_to_all};
constexpr double kMinLinkShare = 1e-3, kMinSeconds = 1e-9;

void set_links(Cluster& cluster, const std::vector<double>& numbers) {
  const auto seconds = [](double number) { return number < kMinSeconds ? 0 : number; };
  cluster.protocols[0].overhead = seconds(numbers[0]);
  cluster.levels[0].latency[0] = seconds(numbers[1]);
  cluster.levels[0].bandwidth = numbers[2];
  cluster.levels[0].total_bandwidth = numbers[3];
  for (size_t i = 0; i < std::size(kShared); ++i) {
    cluster.software.link_share[kShared[i]] = std::clamp(numbers[4 + i], kMinLinkShare, 1.0);
  }
  cluster.software.switch_overhead = seconds(numbers[4 + std::size(kShared)]);
}

/// Adds the shares of the modelled speed that the collectives reached to `software.measured`, by kind, number of ranks
/// and bytes. Shares are lowered where more bytes would take less time.
void set_measured(Cluster& cluster, const std::vector<CollectiveTime>& times) {
  struct Point {
    double links, seconds;
  };
  std::map<Collective, std::map<int, std::map<double, Point>>> points;  // by kind, ranks and bytes
  for (const CollectiveTime& time : times)
    points[time.kind][time.ranks][time.bytes] = {predicted_seconds(cluster, time), time.seconds};
  for (const auto& [kind, groups] : points) {
    for (const auto& [ranks, sizes] : groups) {
      GroupShares& group = cluster.software.measured[kind].emplace_back();
      group.ranks = ranks;
      double longest = 0;
      for (const auto& [bytes, point] : sizes) {
        longest = std::max(longest, point.seconds);
        double share = point.links / longest;
        if (!group.shares.empty())
          share = std::min(share, group.shares.back().share * bytes / group.shares.back().size);
        group.shares.push_back({bytes, share});
      }
    }
  }
}

}  // namespace

double predicted_seconds(const Cluster& cluster, const CollectiveTime& time) {
  const Mesh mesh = Mesh::undivided({{"ranks", time.ranks}});
  return seconds_of(time.kind, time.bytes, place_of(mesh, {0}, 0, cluster), cluster);
}

CollectiveErrors collective_errors(const Cluster& cluster, const std::vector<CollectiveTime>& times) {
  CollectiveErrors errors;
  for (const CollectiveTime& time : times) {
    const double error = std::abs(predicted_seconds(cluster, time) / time.seconds - 1);
    errors.mean += error / static_cast<double>(times.size());
    errors.most = std::max(errors.most, error);
  }
  return errors;
}

Cluster fit_links(Cluster cluster, const std::vector<CollectiveTime>& times) {
  cluster.software.measured.clear();
  const std::vector<double> start = {2e-6, 1e-6, 10e9, 40e9, 0.5, 0.5, 0.5, 4e-6};
  const std::vector<double> best = minimise(start, [&](const std::vector<double>& numbers) {
    set_links(cluster, numbers);
    double loss = 0;
    for (const CollectiveTime& time : times) {
      loss += std::abs(std::log(predicted_seconds(cluster, time) / time.seconds));
    }
    return loss;
  });
  set_links(cluster, best);
  set_measured(cluster, times);
  return cluster;
}

}  // namespace partita
