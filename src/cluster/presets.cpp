#include "cluster/presets.h"

#include <algorithm>
#include <charconv>

#include "cluster/toml.h"
#include "sharding/mesh.h"

namespace partita {
namespace {

constexpr double kGB = 1e9, kTera = 1e12, kMicro = 1e-6;
constexpr int64_t kNodeRanks = 8;

/// Products at their best size, and what kernels that move bytes reach of the memory's bandwidth.
std::map<WorkKind, Efficiency> gpu_efficiency(double product) {
  const Curve moving = {{1e5, 0.3}, {1e7, 0.75}, {1e8, 0.85}};
  const auto computing = [&](double best) {
    return Curve{{1e8, 0.2 * best}, {1e9, 0.5 * best}, {1e10, 0.8 * best}, {1e11, 0.95 * best}, {1e12, best}};
  };
  return {{WorkKind::product, {computing(product), moving, 16, 16, 64}},
          {WorkKind::convolution, {computing(0.8 * product), moving}},
          {WorkKind::attention, {computing(0.7 * product), moving}},
          {WorkKind::normalisation, {{}, moving}},
          {WorkKind::pointwise, {{}, moving}},
          {WorkKind::reduction, {{}, moving}},
          {WorkKind::lookup, {{}, {{1e5, 0.2}, {1e8, 0.5}}}},
          {WorkKind::copy, {{}, moving}}};
}

struct GpuFacts {
  std::string device;
  double half_peak, single_peak, double_peak;  // flop/s
  double memory, memory_bandwidth;
  double best_product;   // share of the peak that the largest products reach
  double links, reduce;  // bytes/s of a rank within the node, and where its switch reduces
  int64_t adapters;
  double adapter;  // bytes/s of one
};

/// The protocols of NCCL with its own constants (src/graph/tuning.cc: baseLat, and hwLat by link).
std::vector<LinkProtocol> nccl_protocols() {
  return {{"LL", 6.6 * kMicro, 0.5, 39 * kGB}, {"LL128", 14 * kMicro, 0.92, 0}, {"Simple", 8.4 * kMicro, 1, 0}};
}

Cluster gpu_cluster(const GpuFacts& facts) {
  Cluster cluster;
  cluster.device = {.name = facts.device,
                    .peak = {{DType::f64, facts.double_peak},
                             {DType::f32, facts.single_peak},
                             {DType::bf16, facts.half_peak},
                             {DType::f16, facts.half_peak}},
                    .memory = facts.memory,
                    .memory_bandwidth = facts.memory_bandwidth,
                    .launch_overhead = 4 * kMicro,
                    .efficiency = gpu_efficiency(facts.best_product)};
  cluster.protocols = nccl_protocols();
  cluster.levels = {{.name = "gpu",
                     .size = kNodeRanks,
                     .bandwidth = facts.links,
                     .links = 1,
                     .latency = {1.0 * kMicro, 1.9 * kMicro, 3.4 * kMicro},
                     .reduce_bandwidth = facts.reduce},
                    {.name = "node",
                     .size = 1,
                     .bandwidth = facts.adapter,
                     .links = facts.adapters,
                     .latency = {2.7 * kMicro, 4.0 * kMicro, 14.0 * kMicro}}};
  cluster.software = {.algorithms = {CollectiveAlgorithm::ring, CollectiveAlgorithm::tree},
                      .overlap_slowdown = 1.1,
                      .tree_share = 0.75};
  if (facts.reduce > 0) cluster.software.algorithms.push_back(CollectiveAlgorithm::in_network);
  cluster.reserve_memory = 1.5 * kGB;  // context of the driver, library workspaces, communication buffers
  return cluster;
}

// Rates are those of the data sheets; links and adapters have what the collective library reaches on them with large
// messages (NVIDIA, GTC 2024 S62129: 122, 232 and 370 GB/s on NVLink 2, 3 and 4; 24 and 48 of 25 and 50 GB/s adapters).

Cluster v100() {
  Cluster cluster = gpu_cluster({.device = "V100-SXM2-32GB",
                                 .half_peak = 125 * kTera,
                                 .single_peak = 15.7 * kTera,
                                 .double_peak = 7.8 * kTera,
                                 .memory = 32 * kGB,
                                 .memory_bandwidth = 900 * kGB,
                                 .best_product = 0.8,
                                 .links = 134.5 * kGB,
                                 .reduce = 0,
                                 .adapters = 4,
                                 .adapter = 12 * kGB});
  // A hybrid cube mesh: rings of 22.4 GB/s through the first 2, 3, .. 8 of its devices.
  cluster.levels[0].share_by_members = {1 / 6.0, 2 / 6.0, 4 / 6.0, 2 / 6.0, 2 / 6.0, 4 / 6.0, 1};
  cluster.device.launch_overhead = 5 * kMicro;
  return cluster;
}

GpuFacts a100_facts(double memory, double memory_bandwidth) {
  return {.device = fmt::format("A100-SXM4-{}GB", memory / kGB),
          .half_peak = 312 * kTera,
          .single_peak = 156 * kTera,  // as TF32, which the libraries take for products of f32
          .double_peak = 19.5 * kTera,
          .memory = memory,
          .memory_bandwidth = memory_bandwidth,
          .best_product = 0.869,
          .links = 232 * kGB,
          .reduce = 0,
          .adapters = 8,
          .adapter = 24 * kGB};
}

GpuFacts hopper_facts(std::string device, double memory, double memory_bandwidth) {
  return {.device = std::move(device),
          .half_peak = 989 * kTera,
          .single_peak = 494 * kTera,
          .double_peak = 67 * kTera,
          .memory = memory,
          .memory_bandwidth = memory_bandwidth,
          .best_product = 0.803,
          .links = 366 * kGB,
          .reduce = 307 * kGB,
          .adapters = 8,
          .adapter = 48 * kGB};
}

Cluster b200() {
  return gpu_cluster({.device = "B200-SXM-180GB",
                      .half_peak = 2250 * kTera,
                      .single_peak = 1125 * kTera,
                      .double_peak = 40 * kTera,
                      .memory = 180 * kGB,
                      .memory_bandwidth = 8000 * kGB,
                      .best_product = 0.776,
                      .links = 690 * kGB,
                      .reduce = 540 * kGB,
                      .adapters = 8,
                      .adapter = 48 * kGB});
}

/// Two rings of four over HCCS, a 100 Gb/s adapter for each device.
Cluster ascend910() {
  Cluster cluster = gpu_cluster({.device = "Ascend 910",
                                 .half_peak = 256 * kTera,
                                 .single_peak = 128 * kTera,
                                 .double_peak = 1 * kTera,
                                 .memory = 32 * kGB,
                                 .memory_bandwidth = 1200 * kGB,
                                 .best_product = 0.75,
                                 .links = 30 * kGB,
                                 .reduce = 0,
                                 .adapters = 8,
                                 .adapter = 11 * kGB});
  cluster.protocols = {{"HCCL", 20 * kMicro, 1, 0}};
  for (LinkLevel& level : cluster.levels) level.latency = {10 * kMicro};
  cluster.software.algorithms = {CollectiveAlgorithm::ring, CollectiveAlgorithm::hierarchical};
  cluster.device.launch_overhead = 10 * kMicro;
  return cluster;
}

/// Eight cores of a server processor with AVX2, a rank on each; nodes on a 25 Gb/s Ethernet.
Cluster cpu() {
  Cluster cluster;
  cluster.device = {.name = "CPU core",
                    .peak = {{DType::f64, 45e9}, {DType::f32, 90e9}},
                    .memory = 8 * kGB,
                    .memory_bandwidth = 10 * kGB,
                    .launch_overhead = 2 * kMicro,
                    .efficiency = {{WorkKind::product, {{{1e4, 0.2}, {1e6, 0.7}, {1e8, 0.9}}, {}}}}};
  cluster.protocols = {{"memory", 10 * kMicro, 1, 0}};
  cluster.levels = {{.name = "core",
                     .size = kNodeRanks,
                     .bandwidth = 4 * kGB,
                     .links = 1,
                     .latency = {2 * kMicro},
                     .total_bandwidth = 20 * kGB},
                    {.name = "node", .size = 1, .bandwidth = 2.8 * kGB, .links = 1, .latency = {30 * kMicro}}};
  cluster.software = {.algorithms = {CollectiveAlgorithm::ring, CollectiveAlgorithm::hierarchical},
                      .overlap_slowdown = 1.2,
                      .messages_at_once = 1};
  cluster.cores = kNodeRanks;
  cluster.memory_bus = 80 * kGB;
  return cluster;
}

struct Preset {
  std::string_view name;
  Cluster (*make)();
};

constexpr Preset kPresets[] = {
    {"v100", v100},
    {"a100-40", [] { return gpu_cluster(a100_facts(40 * kGB, 1555 * kGB)); }},
    {"a100-80", [] { return gpu_cluster(a100_facts(80 * kGB, 2039 * kGB)); }},
    {"h100", [] { return gpu_cluster(hopper_facts("H100-SXM5-80GB", 80 * kGB, 3350 * kGB)); }},
    {"h200", [] { return gpu_cluster(hopper_facts("H200-SXM-141GB", 141 * kGB, 4800 * kGB)); }},
    {"b200", b200},
    {"ascend910", ascend910},
    {"cpu", cpu},
};

int64_t parse_nodes(std::string_view text, std::string_view nodes) {
  int64_t count = 0;
  const auto [end, error] = std::from_chars(nodes.data(), nodes.data() + nodes.size(), count);
  const int64_t most = kMostRanks / kNodeRanks;
  if (error != std::errc() || end != nodes.data() + nodes.size() || count < 1 || count > most) {
    throw InvalidArgument(
        fmt::format("[cluster] bad number of nodes in '{}', got '{}', expected 1 to {}", text, nodes, most));
  }
  return count;
}

}  // namespace

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const Preset& preset : kPresets) names.emplace_back(preset.name);
  return names;
}

Cluster cluster_named(std::string_view text) {
  const size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  const int64_t nodes = colon == std::string_view::npos ? 1 : parse_nodes(text, text.substr(colon + 1));
  for (const Preset& preset : kPresets) {
    if (preset.name != name) continue;
    Cluster cluster = preset.make();
    cluster.name = fmt::format("{}:{}", name, nodes);
    cluster.levels.back().size = nodes;
    verify(cluster);
    return cluster;
  }
  const std::vector<std::string> names = preset_names();
  throw InvalidArgument(fmt::format("[cluster] unknown preset, got '{}', expected one of {} with ':NODES', or a file{}",
                                    name, fmt::join(names, " "), did_you_mean(name, names)),
                        ErrorKind::key);
}

Cluster open_cluster(std::string_view text) {
  const bool is_file = text.find('/') != std::string_view::npos || text.ends_with(".toml");
  return is_file ? read_cluster(std::string(text)) : cluster_named(text);
}

}  // namespace partita
