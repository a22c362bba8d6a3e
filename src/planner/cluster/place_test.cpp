#include "planner/cluster/place.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "planner/cluster/presets.h"

namespace partita {
namespace {

using Counts = std::vector<int64_t>;

/// A cluster with levels of these sizes, innermost first.
Cluster of_sizes(const Counts& sizes) {
  Cluster cluster = cluster_named("cpu");
  const LinkLevel level = cluster.levels[1];
  cluster.levels.clear();
  for (const int64_t size : sizes) {
    cluster.levels.push_back(level);
    cluster.levels.back().name = fmt::format("level{}", cluster.levels.size());
    cluster.levels.back().size = size;
  }
  verify(cluster);
  return cluster;
}

TEST(GroupPlace, MegatronOnNodesOfEight) {
  const Cluster cluster = of_sizes({8, 4});
  const Mesh mesh = Mesh::undivided({{"data", 8}, {"model", 4}});
  const GroupPlace model = place_of(mesh, {1}, 0, cluster);
  EXPECT_EQ(model.members, (Counts{4, 1}));
  EXPECT_EQ(model.crossing, (Counts{2, 0}));
  const GroupPlace data = place_of(mesh, {0}, 0, cluster);
  EXPECT_EQ(data.members, (Counts{2, 4}));
  EXPECT_EQ(data.inside, (Counts{1, 2}));
  EXPECT_EQ(data.sharing, (Counts{1, 4}));  // four groups on the links of a node
  EXPECT_EQ(data.ranks, 8);
  const GroupPlace both = place_of(mesh, {0, 1}, 0, cluster);
  EXPECT_EQ(both.members, (Counts{8, 4}));
  EXPECT_EQ(both.sharing, (Counts{1, 1}));
  const GroupPlace none = place_of(mesh, {}, 0, cluster);
  EXPECT_EQ(none.members, (Counts{1, 1}));
  EXPECT_EQ(none.ranks, 1);
}

TEST(GroupPlace, StagesBeginAnywhere) {
  const Cluster cluster = of_sizes({8, 2});
  const Mesh four = Mesh::undivided({{"data", 4}});
  EXPECT_EQ(place_of(four, {0}, 4, cluster).members, (Counts{4, 1}));
  const GroupPlace astride = place_of(four, {0}, 6, cluster);  // ranks 6 7 | 8 9
  EXPECT_EQ(astride.members, (Counts{2, 2}));
  EXPECT_EQ(astride.inside, (Counts{1, 2}));
  EXPECT_THROW(place_of(four, {0}, 13, cluster), InvalidArgument);
  EXPECT_THROW(place_of(Mesh({{"a", 2}}, {3, 99}), {0}, 0, cluster), InvalidArgument);
}

TEST(GroupPlace, AxesThatStraddleNodes) {
  const Cluster cluster = of_sizes({6, 4});
  const Mesh mesh = Mesh::undivided({{"outer", 3}, {"inner", 8}});
  const GroupPlace inner = place_of(mesh, {1}, 0, cluster);  // 0-5 6-7, 8-11 12-15, 16-17 18-23
  EXPECT_EQ(inner.members, (Counts{6, 2}));
  EXPECT_EQ(inner.inside, (Counts{1, 2}));
  EXPECT_EQ(inner.sharing, (Counts{1, 2}));
  EXPECT_EQ(inner.ranks, 8);
}

TEST(GroupPlace, Levels) {
  const Cluster cluster = of_sizes({4, 2, 3});
  const Mesh mesh = Mesh::undivided({{"data", 12}, {"model", 2}});
  const GroupPlace data = place_of(mesh, {0}, 0, cluster);
  EXPECT_EQ(data.members, (Counts{2, 2, 3}));
  EXPECT_EQ(data.sharing, (Counts{1, 2, 2}));
  EXPECT_EQ(data.crossing, (Counts{2, 2, 2}));
}

/// The closed form agrees with counting one by one, which a list of all ranks in order enforces.
TEST(GroupPlace, InClosedFormAsCounted) {
  std::mt19937 random(5);
  const auto draw = [&](int most) { return static_cast<int64_t>(random() % most + 1); };
  for (int trial = 0; trial < 400; ++trial) {
    const Cluster cluster = of_sizes({draw(8), draw(6), draw(4)});
    std::vector<std::pair<std::string, int64_t>> named;
    int64_t left = cluster.ranks();
    while (left > 1 && named.size() < 4) {
      const int64_t size = std::gcd(left, draw(12));
      named.emplace_back(fmt::format("a{}", named.size()), size);
      left /= size;
    }
    const Mesh mesh = Mesh::undivided(named);
    const int64_t first = draw(static_cast<int>(cluster.ranks() - mesh.ranks() + 1)) - 1;
    std::vector<int> ranks(mesh.ranks());
    std::iota(ranks.begin(), ranks.end(), static_cast<int>(first));
    Axes axes;
    for (int axis = 0; axis < static_cast<int>(mesh.rank_axes()); ++axis) {
      if (random() % 2 == 0) axes.push_back(axis);
    }
    const GroupPlace closed = place_of(mesh, axes, first, cluster);
    int64_t product = 1;
    for (const int64_t members : closed.members) product *= members;
    EXPECT_GE(product, closed.ranks);
    EXPECT_EQ(closed.ranks, mesh.ways(axes));
    if (first == 0) continue;
    const GroupPlace counted = place_of(Mesh::undivided(named, ranks), axes, 0, cluster);
    EXPECT_EQ(closed.members, counted.members) << print(mesh) << " from " << first;
    EXPECT_EQ(closed.sharing, counted.sharing);
    EXPECT_EQ(closed.crossing, counted.crossing);
    for (size_t l = 0; l < closed.members.size(); ++l) {
      if (closed.members[l] > 1) {
        EXPECT_EQ(closed.inside[l], counted.inside[l]);
      }
    }
  }
}

TEST(GroupPlace, Lists) {
  const Cluster cluster = of_sizes({2, 4});
  const GroupPlace pairs = place_of(Mesh({{"a", 2}, {"b", 2}}, {0, 2, 1, 3}), {1}, 0, cluster);  // 0 2, 1 3
  EXPECT_EQ(pairs.members, (Counts{1, 2}));
  EXPECT_EQ(pairs.sharing, (Counts{0, 2}));
}

TEST(GroupPlace, Between) {
  const Cluster cluster = of_sizes({8, 4});
  const GroupPlace inside = place_between(0, 4, 4, cluster);
  EXPECT_EQ(inside.members, (Counts{2, 1}));
  const GroupPlace across = place_between(0, 8, 8, cluster);
  EXPECT_EQ(across.members, (Counts{1, 2}));
  EXPECT_EQ(across.sharing, (Counts{0, 8}));
  EXPECT_EQ(place_between(8, 0, 8, cluster).members, across.members);
  const GroupPlace astride = place_between(0, 6, 6, cluster);  // 0-5 to 6 7 | 8-11
  EXPECT_EQ(astride.members, (Counts{2, 2}));
  EXPECT_EQ(astride.sharing[1], 4);
}

/// The closed form agrees with counting pair by pair.
TEST(GroupPlace, BetweenAnyParts) {
  std::mt19937 random(5);
  const auto number = [&](int64_t least, int64_t most) {
    return least + static_cast<int64_t>(random() % static_cast<uint64_t>(most - least + 1));
  };
  for (int round = 0; round < 3000; ++round) {
    Counts sizes;
    for (int64_t level = number(1, 3); level > 0; --level) sizes.push_back(number(1, 9));
    const Cluster cluster = of_sizes(sizes);
    if (cluster.ranks() < 2) continue;
    const int64_t ranks = number(1, cluster.ranks() / 2), first = number(0, cluster.ranks() - 2 * ranks);
    const int64_t second = number(first + ranks, cluster.ranks() - ranks);
    std::vector<int> list;
    for (const int64_t begin : {first, second}) {
      for (int64_t i = 0; i < ranks; ++i) list.push_back(static_cast<int>(begin + i));
    }
    const Mesh pairs({{"part", 2}, {"rank", ranks}}, list);
    const GroupPlace counted = place_of(pairs, {0}, 0, cluster);
    SCOPED_TRACE(fmt::format("{} ranks of {} to {} on {}", ranks, first, second, fmt::join(sizes, " x ")));
    const GroupPlace place = place_between(first, second, ranks, cluster);
    ASSERT_EQ(place.members, counted.members);
    for (size_t l = 0; l < sizes.size(); ++l) {
      ASSERT_EQ(place.inside[l], place.members[l] > 1 ? counted.inside[l] : 1);
    }
    ASSERT_EQ(place.sharing, counted.sharing);
    ASSERT_EQ(place.crossing, counted.crossing);
    ASSERT_EQ(place_between(second, first, ranks, cluster), place);
  }
}

}  // namespace
}  // namespace partita
