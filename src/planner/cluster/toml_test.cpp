#include "planner/cluster/toml.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/test_refusal.h"
#include "planner/cluster/presets.h"

namespace partita {
namespace {

/// The message with which a text is refused; "accepted" if it is read.
std::string refusal_of_toml(const std::string& text) {
  return refusal_of<InvalidFile>([&] { parse_cluster(text, "my.toml"); });
}

/// The text of a cluster with the first `from` replaced.
std::string with(const std::string& from, const std::string& to) {
  std::string text = print(cluster_named("a100-80:2"));
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

TEST(ClusterToml, ReadsBackWhatItPrints) {
  for (const std::string& name : preset_names()) {
    const Cluster cluster = cluster_named(name + ":3");
    const std::string text = print(cluster);
    const Cluster read = parse_cluster(text, "my.toml");
    EXPECT_EQ(read, cluster) << text;
    EXPECT_EQ(print(read), text);
  }
}

// Files of versions without the key `overlaps_micro_batches` are priced as before, unless the software is Partita.
TEST(ClusterToml, ReadsFilesWithoutAKeyAsTheirVersionDid) {
  const std::string key = "overlaps_micro_batches";
  for (const char* name : {"h100:2", "a100-80", "h100@partita", "v5e"}) {
    const Cluster cluster = cluster_named(name);
    const std::string text = print(cluster);
    EXPECT_EQ(text.find(key), std::string::npos) << "the value of files without it: " << text;
    EXPECT_EQ(parse_cluster(text, "my.toml").software.overlaps_micro_batches, cluster.software.name != kOwnSoftware);
    Cluster other = cluster;
    other.software.overlaps_micro_batches = !other.software.overlaps_micro_batches;
    EXPECT_NE(print(other).find(key), std::string::npos);
    EXPECT_EQ(parse_cluster(print(other), "my.toml"), other);
  }
}

// Files name the algorithms of other libraries, as those of earlier versions do for processors, or of the runtime.
TEST(ClusterToml, ReadsTheNamesOfAlgorithms) {
  const Cluster cluster = cluster_named("cpu:2");
  std::string text = print(cluster);
  const std::string names =
      R"(["last_rank", "direct", "shared_memory", "exchange", "chain", "host_shares", "dissemination"])";
  const size_t at = text.find(names);
  ASSERT_NE(at, std::string::npos) << text;
  const Cluster old = parse_cluster(text.replace(at, names.size(), R"(["ring", "hierarchical"])"), "my.toml");
  EXPECT_EQ(old.software.algorithms,
            (std::vector<CollectiveAlgorithm>{CollectiveAlgorithm::ring, CollectiveAlgorithm::hierarchical}));
  Cluster same = old;
  same.software.algorithms = cluster.software.algorithms;
  EXPECT_EQ(same, cluster);
}

TEST(ClusterToml, KeepsStrangeTexts) {
  Cluster cluster = cluster_named("cpu");
  cluster.device.op_factor = {{"max_pool", 20}};
  cluster.device.op_efficiency = {{"conv2d", {{{1e6, 0.25}}, {{1e6, 2}}, 1, 2, 3}}};
  cluster.device.measured = {{"matmul", {{2e6, 3e4, 1, 100, 100, 100, 0.5}, {2e9, 3e6, 8, 100, 100, 100, 0.75}}}};
  cluster.thread_shares = {{1e-4, 0.25}, {1e-2, 0.9}};
  cluster.busy_share = 0.95;
  cluster.software.link_share = {{Collective::all_gather, 0.5}};
  cluster.levels[0].tree_latency = {1.234567890123456e-7};
  cluster.name = "a \"b\" \\ \n \x01 \xc3\xa4";
  EXPECT_EQ(parse_cluster(print(cluster), "my.toml"), cluster);
}

TEST(ClusterToml, KnowsOneZero) {
  const std::string text = with("latency = [2.35e-6, ", "latency = [-0.0, ");
  const std::string printed = print(parse_cluster(text, "my.toml"));
  EXPECT_NE(printed.find("latency = [0, 1.9e-6"), std::string::npos) << printed;
}

TEST(ClusterToml, TellsLineAndKeyOfBadNumbers) {
  const std::string bandwidth = "bandwidth = 24e9";
  const std::string text = with("links = 8", "links = 0");
  EXPECT_EQ(refusal_of_toml(text),
            fmt::format("[cluster] my.toml:{}: level[1].links: bad number, got 0, expected 1 to 1048576",
                        1 + std::count(text.begin(), text.begin() + text.find("links = 0"), '\n')));
  for (const std::string bad : {"-2.4e+10", "0", "0.0", "1e-300", "nan", "inf", "-inf", "1e22", "1e300"}) {
    const std::string said = refusal_of_toml(with(bandwidth, "bandwidth = " + bad));
    EXPECT_NE(said.find(": level[1].bandwidth: bad number, got "), std::string::npos) << said;
    EXPECT_NE(said.find("expected a number of at least 1 and at most 1e+21"), std::string::npos) << said;
  }
  EXPECT_NE(refusal_of_toml(with("size = 2", "size = 2000000")).find("expected 1 to 1048576"), std::string::npos);
  EXPECT_NE(refusal_of_toml(with("size = 2", "size = 1000000")).find("too many ranks, got 8 x 1000000"),
            std::string::npos);
  EXPECT_NE(refusal_of_toml(with("size = 2", "size = 99999999999999999999")).find("not TOML"), std::string::npos);
  EXPECT_NE(refusal_of_toml(with("overlap_slowdown = 1.1", "overlap_slowdown = 0.5"))
                .find("software.overlap_slowdown: bad number, got 0.5, expected a number of at least 1"),
            std::string::npos);
}

TEST(ClusterToml, TellsUnknownKeysWithTheNearest) {
  EXPECT_NE(refusal_of_toml(with("\nlaunch_overhead", "\nlunch_overhead"))
                .find("device.lunch_overhead: unknown key, got 'lunch_overhead', expected one of"),
            std::string::npos);
  EXPECT_NE(refusal_of_toml(with("\nlaunch_overhead", "\nlunch_overhead")).find("did you mean 'launch_overhead'?"),
            std::string::npos);
  EXPECT_NE(refusal_of_toml(with("[device.efficiency.product]", "[device.efficiency.prodct]"))
                .find("did you mean 'product'?"),
            std::string::npos);
  EXPECT_NE(refusal_of_toml(with("bf16 =", "bf61 =")).find("device.peak.bf61: unknown key"), std::string::npos);
  EXPECT_NE(refusal_of_toml(with("\"ring\"", "\"rang\"")).find("software.algorithms[0]: unknown name, got 'rang'"),
            std::string::npos);
  EXPECT_NE(refusal_of_toml(with("[software]", "[softwear]")).find("did you mean 'software'?"), std::string::npos);
}

TEST(ClusterToml, TellsOtherKindsOfValues) {
  for (const auto& [from, to, said] : std::vector<std::array<std::string, 3>>{
           {"links = 8", "links = 8.5", "level[1].links: bad kind of value, got floating-point, expected 1 to"},
           {"links = 8", "links = \"8\"", "level[1].links: bad kind of value, got string"},
           {"memory = 80e9", "memory = \"80 GB\"", "device.memory: bad kind of value, got string, expected a number"},
           {"name = \"node\"", "name = 3", "level[1].name: bad kind of value, got integer, expected a text"},
           {"latency = [5", "latency = [true, 5", "level[1].latency[0]: bad kind of value, got boolean"},
           {"extra_rows = 16", "extra_rows = [16]", "extra_rows: bad kind of value, got array"},
           {"flops = [[", "flops = [1, [", "product.flops[0]: bad kind of value, got integer, expected [size, share]"},
           {"flops = [[", "flops = [[1, 2, 3], [", "product.flops[0]: bad kind of value"},
           {"flops = [[", "flops = [[\"x\", 2], [", "product.flops[0]: bad kind of value, got string"},
           {"[software]", "[device.measured]\nadd = [[1, 2]]\n\n[software]",
            "device.measured.add[0]: bad kind of value, got array, expected [flops, bytes, batch, rows, columns, "
            "depth, "},
           {"[software]", "[device.measured]\nadd = [[1, 2, 1, 0, 0, 0, 0]]\n\n[software]",
            "device.measured.add[0]: bad number, got 0, expected a number of at least 1e-09"},
           {"[software]", "[device.measured]\nadd = []\n\n[software]", "device.measured.add: no call, got none"},
           {"[software]", "[[software]]", "software: bad kind of value, got array, expected a table"},
           {"algorithms = [\"ring\"", "algorithms = [7", "software.algorithms[0]: bad kind of value"},
           {"regathers = true", "regathers = 1", "software.regathers: bad kind of value, got integer, expected true"},
           {"fused = [", "fused = [1, ", "software.fused[0]: bad kind of value, got integer, expected a text"},
       }) {
    const std::string text = refusal_of_toml(with(from, to));
    EXPECT_NE(text.find(said), std::string::npos) << text;
  }
}

TEST(ClusterToml, SaysWhatWasFitted) {
  Cluster cluster = cluster_named("a100-80");
  cluster.fitted = {"software.host_overhead", "level[1].bandwidth", "device.efficiency.lookup.bytes",
                    "software.product_overlap"};
  cluster.software.host_overhead = 25e-6;
  using Values = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(fitted_values(cluster), (Values{{"software.host_overhead", "25e-6"},
                                            {"level[1].bandwidth", "24e9"},
                                            {"device.efficiency.lookup.bytes", "[[1, 0.5]]"},
                                            {"software.product_overlap", "0"}}));
  for (const std::string& name : preset_names()) {
    const Cluster preset = cluster_named(name);
    EXPECT_LE(preset.fitted.size(), 12U) << name;
    for (const auto& [key, value] : fitted_values(preset)) EXPECT_NE(value, "0") << name << " " << key;
  }
  const std::string said = refusal_of_toml(with("fitted = [", "fitted = [\"software.hots_overhead\", "));
  EXPECT_NE(said.find("fitted[0]: unknown key, got 'software.hots_overhead', expected a key of this file"),
            std::string::npos)
      << said;
}

TEST(ClusterToml, TellsWhatIsMissing) {
  EXPECT_NE(refusal_of_toml("").find("[cluster] my.toml:1: name: missing, got nothing, expected a name"),
            std::string::npos);
  const std::string said = refusal_of_toml(with("memory = 80e9\n", ""));
  EXPECT_NE(said.find("device.memory: missing, got nothing, expected a number of at least 1"), std::string::npos)
      << said;
}

TEST(ClusterToml, TellsTheLineOfWhatIsNotToml) {
  const std::string said = refusal_of_toml("name = \"x\"\n[device\nmemory = 3\n");
  EXPECT_NE(said.find("[cluster] my.toml:2: not TOML, got '"), std::string::npos) << said;
  EXPECT_NE(refusal_of_toml(std::string("name = \"\xff\"")).find("not TOML"), std::string::npos);
  EXPECT_NE(refusal_of_toml(std::string(100000, '[')).find("not TOML"), std::string::npos);
  std::string deep = "[a";
  for (int i = 0; i < 500'000; ++i) deep += ".a";
  EXPECT_EQ(refusal_of_toml(deep + "]\n"),
            "[cluster] my.toml:1: a key is nested too deeply, got more than 16 parts, expected fewer");
}

/// Every prefix of a file is either refused or a whole cluster; none crashes.
TEST(ClusterToml, TruncatedFiles) {
  const std::string text = print(cluster_named("h100:4"));
  int read = 0;
  for (size_t size = 0; size < text.size(); ++size) read += refusal_of_toml(text.substr(0, size)) == "accepted" ? 1 : 0;
  EXPECT_LT(read, 200);  // the last lines have defaults
}

TEST(ClusterToml, Files) {
  const std::string path = testing::TempDir() + "partita_cluster.toml";
  const Cluster cluster = cluster_named("v100:4");
  std::ofstream(path) << print(cluster);
  EXPECT_EQ(read_cluster(path), cluster);
  EXPECT_EQ(open_cluster(path), cluster);
  std::ofstream(path) << std::string((1 << 20) + 1, '#');
  EXPECT_THROW(read_cluster(path), InvalidFile);
  std::remove(path.c_str());
  EXPECT_THROW(read_cluster(path), MissingFile);
}

}  // namespace
}  // namespace partita
