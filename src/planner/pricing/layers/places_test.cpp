#include "planner/pricing/layers/places.h"

#include <gtest/gtest.h>

#include <random>

#include "planner/cluster/presets.h"

namespace partita {
namespace {

/// The placement of the groups over some axes as a text, without numbers that no link depends on.
std::string place_among(int64_t groups, int64_t context, int64_t tensor, const std::string& axis,
                        const Cluster& cluster) {
  const Mesh mesh({{"data", groups}, {"context", context}, {"tensor", tensor}});
  Axes axes;
  for (const std::string& name : axis.empty() ? std::vector<std::string>{"context", "tensor"} : std::vector{axis}) {
    for (int one : mesh.find(name)) axes.push_back(one);
  }
  GroupPlace place = place_of(mesh, axes, 0, cluster);
  for (size_t l = 0; l < cluster.levels.size(); ++l) {
    if (cluster.levels[l].total_bandwidth == 0) place.crossing[l] = 0;
    if (place.members[l] == 1) place.inside[l] = 1;
  }
  return fmt::format("{} ranks; members {}; inside {}; sharing {}; crossing {}", place.ranks,
                     fmt::join(place.members, " "), fmt::join(place.inside, " "), fmt::join(place.sharing, " "),
                     fmt::join(place.crossing, " "));
}

TEST(Places, FewGroupsLieAsManyDo) {
  std::mt19937 random(8);
  int fewer = 0, straddling = 0;
  for (int i = 0; i < 400; ++i) {
    Cluster cluster = cluster_named("v100:64");
    if (i % 3 == 1) cluster.levels[0].total_bandwidth = 1e9;
    if (i % 3 == 2) cluster.levels.insert(cluster.levels.begin() + 1, cluster.levels[1]);
    cluster.levels[0].size = 1 + static_cast<int64_t>(random() % 8);
    if (i % 3 == 2) cluster.levels[1].size = 1 + static_cast<int64_t>(random() % 4);
    const auto context = 1 + static_cast<int64_t>(random() % 3), tensor = 1 + static_cast<int64_t>(random() % 9);
    const int64_t most = cluster.ranks() / (context * tensor);
    if (most == 0) continue;
    const int64_t groups = 1 + static_cast<int64_t>(random()) % most;
    const int64_t few = Places(cluster).fewest_alike(groups, context * tensor);
    SCOPED_TRACE(fmt::format("{} groups of {} x {} on nodes of {}, {}", groups, context, tensor, cluster.levels[0].size,
                             cluster.levels[1].size));
    ASSERT_GE(few, 1);
    ASSERT_LE(few, groups);
    fewer += few < groups;
    straddling += few > 1;
    for (const char* axis : {"context", "tensor", ""}) {
      EXPECT_EQ(place_among(few, context, tensor, axis, cluster), place_among(groups, context, tensor, axis, cluster))
          << axis;
    }
  }
  EXPECT_GT(fewer, 200);
  EXPECT_GT(straddling, 50);
}

}  // namespace
}  // namespace partita
