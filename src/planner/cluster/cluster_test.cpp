#include "planner/cluster/cluster.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/checksum.h"
#include "planner/cluster/presets.h"
#include "planner/cluster/toml.h"
#include "runtime/pjrt/targets.h"

namespace partita {
namespace {

std::string fault_of(const std::function<void(Cluster&)>& change) {
  Cluster cluster = cluster_named("v100:2");
  change(cluster);
  try {
    verify(cluster);
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "";
}

TEST(Cluster, TellsWhatCannotBe) {
  EXPECT_EQ(fault_of([](Cluster& cluster) { cluster.levels[1].bandwidth = -1; }),
            "[cluster] level[1].bandwidth: bad number, got -1, expected a number of at least 1 and at most 1e+21");
  EXPECT_EQ(fault_of([](Cluster& cluster) { cluster.levels[1].bandwidth = 1e-300; }),
            "[cluster] level[1].bandwidth: bad number, got 1e-300, expected a number of at least 1 and at most 1e+21");
  EXPECT_EQ(
      fault_of([](Cluster& cluster) { cluster.levels[1].total_bandwidth = 1e-300; }),
      "[cluster] level[1].total_bandwidth: bad number, got 1e-300, expected 0, or a number of at least 1 and at most "
      "1e+21");
  EXPECT_EQ(fault_of([](Cluster& cluster) { cluster.levels[1].share_by_members = {1e-300}; }),
            "[cluster] level[1].share_by_members[0]: bad number, got 1e-300, expected a number of at least 1e-09 and "
            "at most 1");
  EXPECT_EQ(fault_of([](Cluster& cluster) { cluster.device.memory = std::numeric_limits<double>::quiet_NaN(); }),
            "[cluster] device.memory: bad number, got nan, expected a number of at least 1 and at most 1e+21");
  EXPECT_EQ(fault_of([](Cluster& cluster) { cluster.reserve_memory = 64e9; }),
            "[cluster] reserve_memory: no memory is left, got 64000000000, expected less than 32000000000");
  EXPECT_EQ(fault_of([](Cluster& cluster) { cluster.levels[0].latency.pop_back(); }),
            "[cluster] level[0].latency: bad number of latencies, got 2, expected 3, one for each protocol");
  EXPECT_EQ(
      fault_of([](Cluster& cluster) { cluster.levels[0].tree_latency = {1e-6}; }),
      "[cluster] level[0].tree_latency: bad number of latencies, got 1, expected none or 3, one for each protocol");
  EXPECT_EQ(fault_of([](Cluster& cluster) { cluster.levels[0].share_by_members.pop_back(); }),
            "[cluster] level[0].share_by_members: bad number of shares, got 6, expected none or 7, for 2 to 8 members");
  const auto measured = [](const std::vector<GroupShares>& groups) {
    return fault_of([&](Cluster& cluster) { cluster.software.measured[Collective::all_gather] = groups; });
  };
  EXPECT_EQ(measured({{2, {{1, 1}}}, {4, {{1, 1}}}}), "");
  EXPECT_EQ(measured({{4, {{1, 1}}}, {2, {{1, 1}}}}),
            "[cluster] software.measured.all_gather[1].ranks: numbers do not ascend, got 2, expected more than that of "
            "the group before it");
  EXPECT_EQ(measured({{2, {}}}),
            "[cluster] software.measured.all_gather[0].shares: no share, got none, expected one or more");
  EXPECT_EQ(measured({{1, {{1, 1}}}}),
            "[cluster] software.measured.all_gather[0].ranks: bad number, got 1, expected 2 to 1048576");
  EXPECT_EQ(fault_of([](Cluster& cluster) { cluster.levels[1].name = cluster.levels[0].name; }),
            "[cluster] level[1].name: two levels have one name, got 'gpu', expected another name");
  EXPECT_EQ(fault_of([](Cluster& cluster) { cluster.levels[1].size = 1 << 18; }),
            "[cluster] level[1].size: too many ranks, got 8 x 262144, expected at most 1048576");
  EXPECT_EQ(fault_of([](Cluster& cluster) { cluster.device.peak.clear(); }),
            "[cluster] device.peak: no rate of any type, got none, expected a table of types");
  EXPECT_EQ(fault_of([](Cluster& cluster) { cluster.levels.clear(); }),
            "[cluster] level: no level, got none, expected one or more, innermost first");
  EXPECT_EQ(fault_of([](Cluster& cluster) { cluster.protocols.clear(); }),
            "[cluster] protocol: no protocol, got none, expected one or more");
  EXPECT_EQ(
      fault_of([](Cluster& cluster) { cluster.software.algorithms.clear(); }),
      "[cluster] software.algorithms: none is chosen, got none, expected some of ring tree hierarchical in_network "
      "last_rank direct shared_memory exchange chain host_shares dissemination");
  EXPECT_EQ(fault_of([](Cluster& cluster) { cluster.name = ""; }), "[cluster] name: bad text, got '', expected a name");
}

// Every call has an algorithm.
TEST(Cluster, AlgorithmsOfTheRuntime) {
  const auto listed = [](std::vector<CollectiveAlgorithm> algorithms, bool is_one_host) {
    return fault_of([&](Cluster& cluster) {
      cluster.software.algorithms = algorithms;
      if (is_one_host) cluster.levels.pop_back();
    });
  };
  EXPECT_EQ(listed({CollectiveAlgorithm::direct, CollectiveAlgorithm::chain}, false),
            "[cluster] software.algorithms: ranks of several hosts have no algorithm, got direct chain, expected also "
            "exchange");
  EXPECT_EQ(listed({CollectiveAlgorithm::last_rank}, true),
            "[cluster] software.algorithms: ranks of a host have no algorithm, got last_rank, expected also direct or "
            "exchange");
  EXPECT_EQ(listed({CollectiveAlgorithm::direct}, true), "");
  EXPECT_EQ(fault_of([](Cluster& cluster) {
              cluster.software.algorithms = {CollectiveAlgorithm::direct};
              for (size_t l = 1; l < cluster.levels.size(); ++l) cluster.levels[l].size = 1;
            }),
            "");
  EXPECT_EQ(listed({CollectiveAlgorithm::exchange, CollectiveAlgorithm::chain}, false), "");
}

TEST(Cluster, CurvesAreMonotone) {
  const auto curve = [](Curve points) {
    return fault_of([&](Cluster& cluster) { cluster.device.efficiency[WorkKind::product].flops = points; });
  };
  EXPECT_EQ(curve({{1, 0.1}, {10, 1}}), "");
  EXPECT_EQ(curve({{1, 0.1}, {10, 1.2}}),
            "[cluster] device.efficiency.product.flops[1]: more work takes less time, got a share of 1.2, expected at "
            "most 1");
  EXPECT_EQ(curve({{10, 0.1}, {10, 0.2}}),
            "[cluster] device.efficiency.product.flops[1]: sizes do not ascend, got 10, expected more than 10");
  EXPECT_EQ(curve({{10, 0}}),
            "[cluster] device.efficiency.product.flops[0]: bad number, got 0, expected a number of at least 1e-09 and "
            "at most 1000000");
}

TEST(Cluster, Resized) {
  const auto sizes = [](const Cluster& cluster) {
    verify(cluster);
    std::vector<int64_t> sizes;
    for (const LinkLevel& level : cluster.levels) sizes.push_back(level.size);
    return sizes;
  };
  using Sizes = std::vector<int64_t>;
  const Cluster v100 = cluster_named("v100:4");
  EXPECT_EQ(sizes(resized(v100, 32)), (Sizes{8, 4}));
  EXPECT_EQ(sizes(resized(v100, 24)), (Sizes{8, 3}));
  EXPECT_EQ(sizes(resized(v100, 6)), (Sizes{6, 1}));
  EXPECT_EQ(sizes(resized(v100, 1)), (Sizes{1, 1}));
  EXPECT_EQ(sizes(resized(v100, 12)), (Sizes{8, 2}));
  EXPECT_EQ(sizes(resized(cluster_named("cpu"), 16)), (Sizes{8, 2}));
  EXPECT_THROW(resized(v100, 33), InvalidArgument);
  EXPECT_THROW(resized(v100, 0), InvalidArgument);
}

TEST(Cluster, RanksThatTakeTurnsOnCores) {
  Cluster cluster = cluster_named("cpu");
  cluster.cores = 2;
  cluster.levels[0].size = 8;
  EXPECT_EQ(cluster.ranks_per_core(), 4);
  const DeviceSpec mine = cluster.rank_device();
  EXPECT_EQ(mine.peak.at(DType::f32), cluster.device.peak.at(DType::f32) / 4);
  EXPECT_LE(mine.memory_bandwidth, cluster.device.memory_bandwidth / 4);
  EXPECT_EQ(resized(cluster, 2).ranks_per_core(), 1);
  EXPECT_EQ(resized(cluster, 2).rank_device().peak, cluster.device.peak);
  cluster.thread_share = 0.75;
  EXPECT_DOUBLE_EQ(resized(cluster, 1).rank_device().peak.at(DType::f32), 1.75 * cluster.device.peak.at(DType::f32));
  EXPECT_EQ(cluster_named("a100-40").rank_device(), cluster_named("a100-40").device);
}

TEST(Presets, Names) {
  for (const std::string& name : preset_names()) {
    const int64_t ranks = name == "v5p" ? 4 : 8;
    EXPECT_EQ(cluster_named(name).ranks(), ranks);
    EXPECT_EQ(cluster_named(name + ":16").ranks(), 16 * ranks);
    EXPECT_EQ(cluster_named(name + ":16").name, name + ":16");
  }
}

// Plans are priced by these numbers, which changes of their files must not alter unnoticed.
TEST(Presets, KeepTheirNumbers) {
  const std::vector<std::pair<std::string, std::string>> texts = {
      {"v100", "2b8a5ee3984676ae6324caf676ec3473"},      {"a100-40", "2083d2f824fa89043e429844cc29fe79"},
      {"a100-80", "e90492c9bd12428c51cf785604472284"},   {"h100", "4df3e4c8d9ff53b849e8e1aa9765640c"},
      {"h200", "0f38d1fda22444a466958d82ccfb35ed"},      {"b200", "e7986921d008c8a82b8f1fe0ce6f3ef8"},
      {"ascend910", "87e56e038b2654eff7b0c80cd39e67c8"}, {"v5e", "787efddb06ba24f90db786fcd569abc7"},
      {"v5p", "5c3a039de235fd3189819b0373dd7948"},       {"v6e", "a1c3425375d40de49989d8d21775f45f"},
      {"cpu", "fb0f5f8af0e274bdfb569e80fe2d0e98"},
  };
  for (const auto& [name, checksum] : texts) {
    EXPECT_EQ(checksum_of_text(print(cluster_named(name))), checksum) << name;
  }
}

// Programs are compiled for these chips, and plans are made for them.
TEST(Presets, EachTargetHasOneOfItsMemory) {
  for (const pjrt::Target& target : pjrt::targets()) {
    const Cluster cluster = cluster_named(cluster_of_target(target.name));
    const auto memory = static_cast<double>(target.memory);
    EXPECT_LE(cluster.device.memory, memory) << target.name;
    EXPECT_GE(cluster.device.memory, 0.93 * memory) << target.name;
    EXPECT_EQ(cluster_of_target(target.name + ":4@partita"), target.name + ":4@partita");
  }
  EXPECT_EQ(cluster_of_target("a100:2"), "a100-80:2@partita");
  EXPECT_EQ(cluster_of_target("h100@megatron-core"), "h100@megatron-core");
  EXPECT_EQ(cluster_named("v5p:2").device.peak.at(DType::bf16), 459e12);
  for (const std::string name : {"v5", "cpu", "v100", "", ":4"}) {
    EXPECT_THROW(cluster_of_target(name), InvalidArgument) << name;
  }
}

TEST(Presets, UnknownOnes) {
  const auto refusal = [](std::string_view text) -> std::string {
    try {
      open_cluster(text);
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(
      refusal("a100-4"),
      "[cluster] unknown preset, got 'a100-4', expected one of v100 a100-40 a100-80 h100 h200 b200 ascend910 v5e v5p "
      "v6e cpu with ':NODES', or a file, did you mean 'a100-40'?");
  for (const char* nodes : {"0", "-1", "", "x", "2x", "131073", "99999999999999999999999", "1.5", " 2"}) {
    EXPECT_EQ(refusal(fmt::format("h100:{}", nodes)),
              fmt::format("[cluster] bad number of nodes in 'h100:{}', got '{}', expected 1 to 131072", nodes, nodes));
  }
  // Several presets begin so.
  EXPECT_EQ(refusal("a100:8@partita"),
            "[cluster] unknown preset, got 'a100', expected one of v100 a100-40 a100-80 h100 h200 b200 ascend910 v5e "
            "v5p v6e cpu with ':NODES', or a file, did you mean 'a100-40:8@partita' or 'a100-80:8@partita'?");
  EXPECT_TRUE(refusal("A100").ends_with(", did you mean 'a100-40' or 'a100-80'?"));
  EXPECT_TRUE(refusal("ascend:2").ends_with(", did you mean 'ascend910:2'?"));
  EXPECT_TRUE(refusal("h101:2").ends_with(", did you mean 'h100'?"));
  EXPECT_THROW(open_cluster("nowhere.toml"), MissingFile);
  try {
    open_cluster("/tmp/");
    ADD_FAILURE() << "a folder was read";
  } catch (const MissingFile& error) {
    EXPECT_STREQ(error.what(), "[cluster] cannot read /tmp/: it is a folder, expected a file");
  }
}

TEST(Presets, AreFoundInCapitals) {
  EXPECT_EQ(cluster_named("H100:128"), cluster_named("h100:128"));
  EXPECT_EQ(cluster_named("A100-80:2@Megatron-Core"), cluster_named("a100-80:2@megatron-core"));
  EXPECT_EQ(cluster_named("Ascend910").name, "ascend910:1");
  EXPECT_EQ(cluster_of_target("V5E:4"), "v5e:4@partita");
  EXPECT_EQ(cluster_of_target("A100@partita"), "a100-80@partita");
}

TEST(ClusterNames, GetMoreNodes) {
  EXPECT_EQ(with_more_nodes("v100", 4), "v100:4");
  EXPECT_EQ(with_more_nodes("a100-80:4@megatron-core", 2), "a100-80:8@megatron-core");
  EXPECT_EQ(with_more_nodes("a100-80@partita", 2), "a100-80:2@partita");
  EXPECT_THROW(with_more_nodes("v100:many", 2), InvalidArgument);
  EXPECT_THROW(cluster_named("v100@"), InvalidArgument);
  EXPECT_TRUE(is_cluster_file("my.toml") && is_cluster_file("./v100") && !is_cluster_file("v100:2@partita"));
}

}  // namespace
}  // namespace partita
