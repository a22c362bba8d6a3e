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

/// A cluster with every algorithm, so that each is tested.
Cluster full(std::string_view name) {
  Cluster cluster = cluster_named(name);
  cluster.software.algorithms = {CollectiveAlgorithm::ring, CollectiveAlgorithm::tree,
                                 CollectiveAlgorithm::hierarchical, CollectiveAlgorithm::in_network};
  return cluster;
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

TEST(CollectiveSeconds, MoreBytesNeverTakeLessTime) {
  for (const std::string& name : preset_names()) {
    const Cluster cluster = full(name + ":8");
    for (const GroupPlace& place : places(cluster)) {
      for (const Collective kind : kPriced) {
        double before = 0;
        for (double bytes = 0; bytes < 1e11; bytes = bytes * 1.3 + 1) {
          const double seconds = seconds_of(kind, bytes, place, cluster);
          EXPECT_TRUE(std::isfinite(seconds) && seconds >= before) << name << " " << name_of(kind) << " " << bytes;
          before = seconds;
        }
      }
    }
  }
}

TEST(CollectiveSeconds, SlowerLinksNeverTakeLessTime) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> slower(0.1, 1), exponent(0, 10);
  for (const std::string& name : preset_names()) {
    const Cluster cluster = full(name + ":8");
    const std::vector<GroupPlace> where = places(cluster);
    for (int trial = 0; trial < 300; ++trial) {
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
