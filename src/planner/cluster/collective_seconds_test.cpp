#include "planner/cluster/collective_seconds.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "ir/sharding/reshard.h"
#include "planner/cluster/link_costs.h"
#include "planner/cluster/presets.h"

namespace partita {
namespace {

constexpr Collective kPriced[] = {Collective::all_reduce, Collective::reduce_scatter, Collective::all_gather,
                                  Collective::all_to_all, Collective::permute,        Collective::broadcast,
                                  Collective::send,       Collective::halo_exchange};

Mesh mesh_of(std::vector<std::pair<std::string, int64_t>> named) { return Mesh::undivided(named); }

using Algorithms = std::vector<CollectiveAlgorithm>;
const Algorithms kLibrary = {CollectiveAlgorithm::ring, CollectiveAlgorithm::tree, CollectiveAlgorithm::hierarchical,
                             CollectiveAlgorithm::in_network};
const Algorithms kRuntime(std::begin(kRuntimeAlgorithms), std::end(kRuntimeAlgorithms));

/// The cluster with every algorithm of other libraries, with those of the runtime, and with few of these.
std::vector<Cluster> full(std::string_view name) {
  std::vector<Cluster> clusters;
  for (const Algorithms& algorithms :
       {kLibrary, kRuntime, {CollectiveAlgorithm::direct, CollectiveAlgorithm::exchange}}) {
    clusters.push_back(cluster_named(name));
    clusters.back().software.algorithms = algorithms;
  }
  return clusters;
}

std::vector<GroupPlace> places(const Cluster& cluster) {
  const Mesh mesh = mesh_of({{"a", 4}, {"b", 2}, {"c", 4}});
  std::vector<GroupPlace> places;
  for (const Axes& axes : std::vector<Axes>{{0}, {1}, {2}, {0, 1}, {1, 2}, {0, 2}, {0, 1, 2}}) {
    places.push_back(place_of(mesh, axes, 0, cluster));
  }
  places.push_back(place_of(mesh_of({{"a", 3}, {"b", 5}}), {1}, 6, cluster));
  places.push_back(place_between(0, 8, 8, cluster));
  return places;
}

// A share of 0.5 doubles the time that the links suggest. Shares are interpolated between sizes and numbers of ranks.
TEST(CollectiveSeconds, AsMeasured) {
  const Cluster links = cluster_named("cpu:2");
  Cluster measured = links;
  measured.software.measured[Collective::all_reduce] = {{.ranks = 2, .shares = {{1e4, 0.5}, {1e6, 0.8}}},
                                                        {.ranks = 4, .shares = {{1e4, 0.25}}}};
  const auto times = [&](Collective kind, int64_t ranks, double bytes) {
    const GroupPlace place = place_of(mesh_of({{"ranks", ranks}}), {0}, 0, links);
    return seconds_of(kind, bytes, place, measured) / seconds_of(kind, bytes, place, links);
  };
  EXPECT_NEAR(times(Collective::all_reduce, 2, 1e4), 2, 1e-9);
  EXPECT_NEAR(times(Collective::all_reduce, 2, 10), 2, 1e-9);
  EXPECT_NEAR(times(Collective::all_reduce, 2, 1e8), 1.25, 1e-9);
  EXPECT_NEAR(times(Collective::all_reduce, 2, 1e5), 1 / std::sqrt(0.5 * 0.8), 1e-9);
  EXPECT_NEAR(times(Collective::all_reduce, 4, 1e6), 4, 1e-9);
  EXPECT_NEAR(times(Collective::all_reduce, 8, 1e4), 4, 1e-9);
  EXPECT_GT(times(Collective::all_reduce, 3, 1e4), 2);
  EXPECT_LT(times(Collective::all_reduce, 3, 1e4), 4);
  EXPECT_EQ(times(Collective::all_gather, 2, 1e4), 1);
  EXPECT_EQ(times(Collective::all_reduce, 16, 1e4), 1);  // across two nodes nothing is measured
}

TEST(CollectiveSeconds, ByHand) {
  Cluster cluster = cluster_named("cpu:2");
  cluster.software.algorithms = {CollectiveAlgorithm::ring};
  cluster.protocols = {{"only", 10e-6, 1, 0}};
  cluster.levels[0].bandwidth = 4e9, cluster.levels[0].latency = {1e-6}, cluster.levels[0].total_bandwidth = 0;
  cluster.levels[1].bandwidth = 1e9, cluster.levels[1].latency = {5e-6};
  const double bytes = 8e6;
  const GroupPlace node = place_of(mesh_of({{"a", 8}}), {0}, 0, cluster);
  EXPECT_NEAR(seconds_of(Collective::all_reduce, bytes, node, cluster), 10e-6 + 14e-6 + 2 * 7 / 8.0 * bytes / 4e9,
              1e-12);
  EXPECT_NEAR(seconds_of(Collective::all_gather, bytes, node, cluster), 10e-6 + 7e-6 + 7 / 8.0 * bytes / 4e9, 1e-12);
  // One Ethernet link for the eight ranks of a node: 15 steps around, one of them between nodes.
  const GroupPlace all = place_of(mesh_of({{"a", 16}}), {0}, 0, cluster);
  EXPECT_NEAR(seconds_of(Collective::all_gather, bytes, all, cluster), 10e-6 + 14e-6 + 5e-6 + 15 / 16.0 * bytes / 1e9,
              1e-12);
  // Eight groups of two share the link.
  const GroupPlace pairs = place_of(mesh_of({{"a", 2}, {"b", 8}}), {0}, 0, cluster);
  EXPECT_NEAR(seconds_of(Collective::all_gather, bytes, pairs, cluster), 10e-6 + 5e-6 + 0.5 * bytes / (1e9 / 8), 1e-12);
  // Each rank sends half of its bytes to the other node, eight ranks over one link.
  EXPECT_NEAR(seconds_of(Collective::all_to_all, bytes, all, cluster),
              10e-6 + 7 * 1e-6 + 8 * 5e-6 + 8 * 0.5 * bytes / 1e9, 1e-12);
  EXPECT_NEAR(seconds_of(Collective::send, bytes, place_between(0, 8, 8, cluster), cluster),
              10e-6 + 5e-6 + bytes / (1e9 / 8), 1e-12);
  // Each rank copies its buffer in addition to sending.
  cluster.levels[0].copy_bandwidth = 2e9;
  EXPECT_NEAR(seconds_of(Collective::all_gather, bytes, node, cluster),
              10e-6 + 7e-6 + 7 / 8.0 * bytes / 4e9 + bytes / 2e9, 1e-12);
  cluster.levels[0].copy_bandwidth = 0;
  cluster.software.link_share = {{Collective::all_gather, 0.5}};
  EXPECT_NEAR(seconds_of(Collective::all_gather, bytes, node, cluster), 10e-6 + 7e-6 + 7 / 8.0 * bytes / 2e9, 1e-12);
  EXPECT_NEAR(seconds_of(Collective::reduce_scatter, bytes, node, cluster), 10e-6 + 7e-6 + 7 / 8.0 * bytes / 4e9,
              1e-12);
  cluster.software.link_share.clear();
  // A bus that all links of a node share.
  cluster.levels[0].total_bandwidth = 8e9;
  EXPECT_NEAR(seconds_of(Collective::all_gather, bytes, node, cluster), 10e-6 + 7e-6 + 7 / 8.0 * bytes / 1e9, 1e-12);
}

/// Two hosts of eight ranks with the algorithms of the runtime and round numbers.
Cluster runtime_hosts() {
  Cluster cluster = cluster_named("cpu:2");
  cluster.protocols = {{"only", 10e-6, 1, 0}};
  cluster.levels[0].bandwidth = 4e9, cluster.levels[0].latency = {1e-6}, cluster.levels[0].total_bandwidth = 0;
  cluster.levels[1].bandwidth = 1e9, cluster.levels[1].latency = {5e-6};
  return cluster;
}

// Half of what a rank reads and writes, at the rate at which it copies, and meetings of eight ranks.
TEST(CollectiveSeconds, ByHandOfThreads) {
  Cluster cluster = runtime_hosts();
  cluster.levels[1].size = 1;
  const GroupPlace node = place_of(mesh_of({{"a", 8}}), {0}, 0, cluster);
  const double bytes = 8e6, meeting = 7e-6;
  EXPECT_NEAR(seconds_of(Collective::all_reduce, bytes, node, cluster), 10e-6 + 2 * meeting + bytes / 4e9, 1e-12);
  EXPECT_NEAR(seconds_of(Collective::reduce_scatter, bytes, node, cluster),
              10e-6 + 2 * meeting + (1 + 1 / 8.0) / 2 * bytes / 4e9, 1e-12);
  // One rank does the work of all. Of a few bytes more, a second meeting costs more than it saves.
  EXPECT_NEAR(seconds_of(Collective::all_gather, 1000, node, cluster), 10e-6 + meeting + 8 * 1000 / 4e9, 1e-12);
  EXPECT_NEAR(seconds_of(Collective::all_gather, 1100, node, cluster), 10e-6 + 2 * meeting + 1100 / 4e9, 1e-12);
  EXPECT_NEAR(seconds_of(Collective::barrier, 0, node, cluster), 10e-6 + meeting, 1e-12);
  EXPECT_EQ(algorithm_of(Collective::all_gather, 1000, node, cluster), CollectiveAlgorithm::last_rank);
  EXPECT_EQ(algorithm_of(Collective::all_gather, 1100, node, cluster), CollectiveAlgorithm::direct);
  // Without cores of their own, up to 128 KiB.
  cluster.cores = 4;
  EXPECT_EQ(algorithm_of(Collective::all_gather, 16e3, node, cluster), CollectiveAlgorithm::last_rank);
  // Four ranks wait for a core.
  cluster.software.switch_overhead = 3e-6;
  EXPECT_NEAR(seconds_of(Collective::all_reduce, bytes, node, cluster), 10e-6 + 2 * meeting + 12e-6 + bytes / 4e9,
              1e-12);
  EXPECT_NEAR(seconds_of(Collective::barrier, 0, node, cluster), 10e-6 + meeting + 12e-6, 1e-12);
  // All ranks copy at once; of small calls one rank does.
  cluster.cores = 8;
  cluster.levels[0].total_bandwidth = 8e9;
  EXPECT_NEAR(seconds_of(Collective::all_reduce, bytes, node, cluster), 10e-6 + 2 * meeting + bytes / 1e9, 1e-12);
  EXPECT_NEAR(seconds_of(Collective::all_gather, 1000, node, cluster), 10e-6 + meeting + 8 * 1000 / 4e9, 1e-12);
  cluster.software.link_share = {{Collective::all_reduce, 0.5}};
  EXPECT_NEAR(seconds_of(Collective::all_reduce, bytes, node, cluster), 10e-6 + 2 * meeting + bytes / 0.5e9, 1e-12);
}

TEST(CollectiveSeconds, ByHandOfHosts) {
  const Cluster cluster = runtime_hosts();
  const GroupPlace all = place_of(mesh_of({{"a", 16}}), {0}, 0, cluster);
  const GroupPlace node = place_of(mesh_of({{"a", 2}, {"b", 8}}), {1}, 0, cluster);
  const GroupPlace pairs = place_of(mesh_of({{"a", 2}, {"b", 8}}), {0}, 0, cluster);
  const double bytes = 8 << 20, meeting = 7e-6, copying = bytes / 4e9;
  // 32 chunks of 256 KiB; ranks write, read, write and read again.
  EXPECT_EQ(algorithm_of(Collective::all_reduce, bytes, node, cluster), CollectiveAlgorithm::shared_memory);
  EXPECT_NEAR(seconds_of(Collective::all_reduce, bytes, node, cluster),
              10e-6 + 2 * 32 * meeting + (3 + 2 + 1 / 8.0) / 2 * copying, 1e-12);
  // One buffer crosses the link between two hosts in each direction, the first 8 chunks of 256 KiB before the others;
  // owners get 2 + 2 buffers, add 1 + 1/8 to 1/8, and gather 1 + 1/8 from 1 + 1/8.
  EXPECT_EQ(algorithm_of(Collective::all_reduce, bytes, all, cluster), CollectiveAlgorithm::chain);
  EXPECT_NEAR(seconds_of(Collective::all_reduce, bytes, all, cluster),
              10e-6 + (32 + 4) * meeting + (4 + 1.25 + 2.25) / 2 * copying + 2 * 5e-6 + bytes / 1e9 + (8 << 18) / 1e9,
              1e-12);
  EXPECT_EQ(algorithm_of(Collective::all_gather, bytes, all, cluster), CollectiveAlgorithm::host_shares);
  EXPECT_NEAR(seconds_of(Collective::all_gather, bytes, all, cluster),
              10e-6 + 2 * 2 * meeting + (1 + 1 / 8.0) * copying + 5e-6 + 0.5 * bytes / 1e9, 1e-12);
  // 16-bit floats are summed by messages alone: each of eight ranks sends half of its buffer out twice.
  EXPECT_EQ(algorithm_of(Collective::all_reduce, bytes, all, cluster, DType::bf16), CollectiveAlgorithm::exchange);
  EXPECT_NEAR(seconds_of(Collective::all_reduce, bytes, all, cluster, DType::bf16),
              10e-6 + (1 + 1 / 16.0) / 2 * copying + 2 * (7 * 1e-6 + 8 * 5e-6) + 2 * 8 * 0.5 * bytes / 1e9, 1e-12);
  // One rank of each group on a host; eight groups share the link.
  EXPECT_EQ(algorithm_of(Collective::all_reduce, bytes, pairs, cluster), CollectiveAlgorithm::exchange);
  EXPECT_NEAR(seconds_of(Collective::all_reduce, bytes, pairs, cluster),
              10e-6 + (1 + 1 / 2.0) / 2 * copying + 2 * 5e-6 + 2 * 0.5 * bytes / (1e9 / 8), 1e-12);
  EXPECT_EQ(algorithm_of(Collective::send, bytes, pairs, cluster), std::nullopt);
  EXPECT_EQ(algorithm_of(Collective::slice, bytes, pairs, cluster), std::nullopt);
}

// Messages alone run what is shorter than 64 KiB, even if a longer call would take less time: then they cost that.
TEST(CollectiveSeconds, ShortCallsCostAtMostALongerOne) {
  Cluster cluster = runtime_hosts();
  cluster.levels[1].bandwidth = 1e7;
  const GroupPlace all = place_of(mesh_of({{"a", 16}}), {0}, 0, cluster);
  const auto by_messages = collective_options(Collective::all_reduce, 65000, all, cluster, DType::bf16);
  EXPECT_EQ(algorithm_of(Collective::all_reduce, 65000, all, cluster), CollectiveAlgorithm::exchange);
  EXPECT_GT(by_messages.at(0).seconds, seconds_of(Collective::all_reduce, 65536, all, cluster));
  EXPECT_EQ(seconds_of(Collective::all_reduce, 65000, all, cluster),
            seconds_of(Collective::all_reduce, 65536, all, cluster));
}

TEST(CollectiveSeconds, WhatTakesNoPart) {
  const Cluster cluster = cluster_named("h100:2");
  const GroupPlace all = place_of(mesh_of({{"a", 16}}), {0}, 0, cluster), one = place_of(Mesh(), {}, 3, cluster);
  for (const Collective kind : {Collective::slice, Collective::accumulate, Collective::stack, Collective::leave}) {
    EXPECT_EQ(seconds_of(kind, 1e9, all, cluster), 0);
  }
  for (const Collective kind : kPriced) {
    EXPECT_EQ(seconds_of(kind, 1e9, one, cluster), 0);
    EXPECT_GT(seconds_of(kind, 0, all, cluster), 0);
  }
  EXPECT_GT(seconds_of(Collective::barrier, 0, all, cluster), 0);
}

void expect_more_bytes_take_longer(const Cluster& cluster, const GroupPlace& place, DType dtype) {
  for (const Collective kind : kPriced) {
    double before = 0;
    for (double bytes = 0; bytes < 1e11; bytes = bytes * 1.3 + 1) {
      const double seconds = seconds_of(kind, bytes, place, cluster, dtype);
      EXPECT_TRUE(std::isfinite(seconds) && seconds > 0 && seconds >= before)
          << cluster.name << " " << name_of(kind) << " " << bytes;
      before = seconds;
    }
  }
}

TEST(CollectiveSeconds, MoreBytesNeverTakeLessTime) {
  for (const std::string& name : preset_names()) {
    for (const Cluster& cluster : full(name + ":8")) {
      for (const GroupPlace& place : places(cluster)) {
        for (const DType dtype : {DType::f32, DType::bf16}) expect_more_bytes_take_longer(cluster, place, dtype);
      }
    }
    for (const Cluster& cluster : full(name)) {  // one host, with as many ranks as cores, and with more
      for (const int64_t ranks : {2, 4})
        expect_more_bytes_take_longer(cluster, place_of(mesh_of({{"a", ranks}}), {0}, 0, cluster), DType::f32);
    }
  }
  Cluster few_cores = cluster_named("cpu");
  few_cores.cores = 2;
  expect_more_bytes_take_longer(few_cores, place_of(mesh_of({{"a", 8}}), {0}, 0, few_cores), DType::f32);
}

TEST(CollectiveSeconds, SlowerLinksNeverTakeLessTime) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> slower(0.1, 1), exponent(0, 10);
  for (const std::string& name : preset_names()) {
    const std::vector<Cluster> clusters = full(name + ":8");
    const std::vector<GroupPlace> where = places(clusters[0]);
    for (int trial = 0; trial < 300; ++trial) {
      const Cluster& cluster = clusters[trial % clusters.size()];
      Cluster worse = cluster;
      LinkLevel& level = worse.levels[random() % worse.levels.size()];
      LinkProtocol& protocol = worse.protocols[random() % worse.protocols.size()];
      const double factor = slower(random);
      switch (random() % 10) {
        case 0: level.bandwidth *= factor; break;
        case 1: level.links = 1; break;
        case 2: level.latency[random() % level.latency.size()] /= factor; break;
        case 3: level.total_bandwidth = level.bandwidth * factor; break;
        case 4: level.reduce_bandwidth *= factor; break;
        case 5: protocol.overhead /= factor; break;
        case 6: protocol.bandwidth_share *= factor; break;
        case 7: protocol.max_bandwidth = 1e10 * factor; break;
        case 9: level.copy_bandwidth = 1e12 * factor; break;
        case 8: worse.software.tree_share *= factor; break;
      }
      const double bytes = std::pow(10, exponent(random));
      for (const GroupPlace& place : where) {
        for (const Collective kind : kPriced) {
          EXPECT_GE(seconds_of(kind, bytes, place, worse) * (1 + 1e-12), seconds_of(kind, bytes, place, cluster))
              << name << " " << name_of(kind);
        }
      }
    }
  }
}

/// The same number of ranks never takes less time if they are farther apart, or if more groups share their links.
TEST(CollectiveSeconds, FartherApartNeverTakesLessTime) {
  const Cluster cluster = cluster_named("a100-80:8");
  const GroupPlace near = place_of(mesh_of({{"a", 8}, {"b", 8}}), {1}, 0, cluster);
  const GroupPlace shared = place_of(mesh_of({{"a", 8}, {"b", 8}}), {0}, 0, cluster);
  GroupPlace only = shared;
  only.sharing[1] = only.crossing[1] = 1;
  for (const Collective kind : kPriced) {
    for (const double bytes : {0.0, 1e4, 1e6, 1e9}) {
      // For few bytes, trees between nodes can be faster than rings within one: they take fewer steps.
      if (bytes >= 1e6) {
        EXPECT_LE(seconds_of(kind, bytes, near, cluster), seconds_of(kind, bytes, only, cluster));
      }
      EXPECT_LE(seconds_of(kind, bytes, only, cluster), seconds_of(kind, bytes, shared, cluster));
    }
  }
}

TEST(CollectiveSeconds, OptionsAreWhatCounts) {
  const Cluster cluster = cluster_named("h200");
  const GroupPlace node = place_of(mesh_of({{"a", 8}}), {0}, 0, cluster);
  const auto options = collective_options(Collective::all_reduce, 1e9, node, cluster);
  EXPECT_EQ(options.size(), cluster.protocols.size() * cluster.software.algorithms.size());
  double least = options[0].seconds;
  for (const CollectiveOption& option : options) least = std::min(least, option.seconds);
  EXPECT_EQ(least, seconds_of(Collective::all_reduce, 1e9, node, cluster));
}

TEST(LinkCosts, LeadReshardsOverFastLinks) {
  const Cluster cluster = cluster_named("a100-80:2");
  const Mesh mesh = mesh_of({{"outer", 2}, {"inner", 8}}).with_micro_batches(4);
  const LinkCosts costs = link_costs(mesh, 0, cluster);
  ASSERT_EQ(costs.step.size(), 3U);
  EXPECT_GT(costs.byte[0], 5 * costs.byte[1]);
  EXPECT_GT(costs.step[0], costs.step[1]);
  EXPECT_EQ(costs.step[2], costs.step[0]);
  EXPECT_EQ(costs.byte[2], costs.byte[0]);
  Resharder resharder(mesh, costs);
  const Type type{DType::f32, {1024, 1024}};
  const auto gather = [&](Axes axes) {
    Sharding from, to;
    from.dims.resize(2), to.dims.resize(2);
    from.dims[0] = std::move(axes);
    return resharder.path(type, from, to).cost;
  };
  EXPECT_NEAR(gather({1}),
              seconds_of(Collective::all_gather, 4.0 * 1024 * 1024, place_of(mesh, {1}, 0, cluster), cluster),
              0.3 * gather({1}));
  EXPECT_GT(gather({0}), gather({1}));
}

}  // namespace
}  // namespace partita
