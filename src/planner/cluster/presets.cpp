#include "planner/cluster/presets.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/plain_text.h"
#include "ir/sharding/mesh.h"
#include "planner/cluster/software.h"
#include "planner/cluster/toml.h"
#include "runtime/pjrt/targets.h"

namespace partita {
namespace {

constexpr double kGB = 1e9, kTera = 1e12;
constexpr int64_t kNodeRanks = 8;
/// Share of the rate by columns for products before a loss. On A100 and H100 they took longer than their operations
/// suggest if one device has a whole vocabulary as columns.
const Curve kWideProducts = {{32768, 1}, {51200, 0.25}};

/// Returns the share of the peak by size, for work that reaches the share `best` at large sizes.
Curve computing(double best) {
  Curve curve{{1e8, 0.2}, {1e9, 0.5}, {1e10, 0.8}, {1e11, 0.95}, {1e12, 1}};
  for (CurvePoint& point : curve) point.share = std::round(point.share * best * 1000) / 1000;
  return curve;
}

/// Returns the efficiencies of a GPU. Products reach the share `product` of the peak, except for tiles that their sizes
/// do not fill; convolutions reach 0.8 of it at large sizes. Attention reaches `attention`, or is like products if that
/// is 0. Other kernels reach a fixed share of the memory bandwidth.
std::map<WorkKind, Efficiency> gpu_efficiency(double product, double attention) {
  const Curve moving = {{1, 0.85}}, best = {{1, product}};
  const Efficiency products{best, moving, 16, 16, 64};
  return {{WorkKind::product, products},
          {WorkKind::convolution, {computing(0.8 * product), moving}},
          {WorkKind::attention, attention > 0 ? Efficiency{{{1, attention}}, moving} : products},
          {WorkKind::normalisation, {{}, moving}},
          {WorkKind::pointwise, {{}, moving}},
          {WorkKind::reduction, {{}, moving}},
          {WorkKind::lookup, {{}, {{1, 0.5}}}},
          {WorkKind::copy, {{}, moving}}};
}

/// A protocol of NCCL.
struct NcclProtocol {
  std::string_view name;
  double overhead, share, step, network_step;  // steps: seconds within a node, and between nodes
};

struct GpuFacts {
  std::string device;
  double f16_peak, f32_peak, f64_peak;  // flop/s
  double plain_f32 = 0;                 // flop/s without TF32, if f32_peak is that of TF32; else 0
  double memory, memory_bandwidth;
  double best_product;   // share of the peak that large products reach
  double attention = 0;  // share that fused attention reaches, counting all scores; 0: as products
  double links;          // bytes/s of a rank within the node
  double adapter;        // bytes/s of one network adapter
  int64_t adapters;
  std::vector<NcclProtocol> protocols;
};

Cluster gpu_cluster(const GpuFacts& facts) {
  Cluster cluster;
  cluster.device = {.name = facts.device,
                    .peak = {{DType::f64, facts.f64_peak},
                             {DType::f32, facts.f32_peak},
                             {DType::bf16, facts.f16_peak},
                             {DType::f16, facts.f16_peak}},
                    .plain_f32 = facts.plain_f32,
                    .memory = facts.memory,
                    .memory_bandwidth = facts.memory_bandwidth,
                    .launch_overhead = 2e-6,
                    .efficiency = gpu_efficiency(facts.best_product, facts.attention)};
  cluster.levels = {{.name = "gpu", .size = kNodeRanks, .bandwidth = facts.links},
                    {.name = "node", .bandwidth = facts.adapter, .links = facts.adapters}};
  for (const NcclProtocol& protocol : facts.protocols) {
    cluster.protocols.push_back({std::string(protocol.name), protocol.overhead, protocol.share});
    cluster.levels[0].latency.push_back(protocol.step);
    cluster.levels[1].latency.push_back(protocol.network_step);
  }
  cluster.software = {.algorithms = {CollectiveAlgorithm::ring, CollectiveAlgorithm::tree},
                      .overlap_slowdown = 1.1,
                      .tree_share = 0.75};
  cluster.reserve_memory = 1.5 * kGB;  // context of the driver, library workspaces, communication buffers
  return cluster;
}

// Sources of the numbers:
// - Peaks and memories are from the data sheets.
// - Links and protocols are fitted to nccl-tests: V100 and A100 by vTrain (traces of 2 to 8 devices), A100, H200 and
// B200
//   by ml-engineering. Links have the bandwidth that NCCL reaches with large messages. bench_cluster_fit prints the
//   errors of the fit.
// - Adapters of 100, 200 and 400 Gb/s have 12, 24 and 48 GB/s (NVIDIA, GTC 2024 S62129).
// - Network steps of 5, 8.5 and 14 us are from NCCL's own model (tuning.cc), as are steps within a node of 1.9 and 3.4
// us
//   if none are measured.
// - Products of A100 and H100 reach what they do in the training steps of docs/guide/planning.md. Those of V100 and
// B200
//   are assumed to be as far below the best that ml-engineering measured.
// `fitted` names all values that were chosen so that prices match measurements.

Cluster v100() {
  Cluster cluster = gpu_cluster({.device = "V100-SXM2-32GB",
                                 .f16_peak = 125 * kTera,
                                 .f32_peak = 15.7 * kTera,
                                 .f64_peak = 7.8 * kTera,
                                 .memory = 32 * kGB,
                                 .memory_bandwidth = 900 * kGB,
                                 .best_product = 0.8,
                                 .links = 135.5 * kGB,
                                 .adapter = 12 * kGB,
                                 .adapters = 4,
                                 .protocols = {{"LL", 9.1e-6, 0.08, 2.35e-6, 5e-6},
                                               {"LL128", 18.4e-6, 0.65, 2.91e-6, 8.5e-6},
                                               {"Simple", 12.9e-6, 1, 5.38e-6, 14e-6}}});
  // A hybrid cube mesh: the share of the six rings through all eight devices that pass through the first 2, 3, .. 8.
  cluster.levels[0].share_by_members = {0.167, 0.333, 0.667, 0.275, 0.333, 0.667, 1};
  cluster.fitted = {"level[0].bandwidth",          "level[0].latency",
                    "protocol[0].overhead",        "protocol[1].overhead",
                    "protocol[1].bandwidth_share", "protocol[2].overhead"};
  use_software(cluster, "megatron-lm");
  return cluster;
}

Cluster a100(double memory, double memory_bandwidth) {
  Cluster cluster = gpu_cluster({.device = fmt::format("A100-SXM4-{}GB", memory / kGB),
                                 .f16_peak = 312 * kTera,
                                 .f32_peak = 156 * kTera,  // TF32, which the libraries use for products of f32
                                 .f64_peak = 19.5 * kTera,
                                 .plain_f32 = 19.5 * kTera,
                                 .memory = memory,
                                 .memory_bandwidth = memory_bandwidth,
                                 .best_product = 0.805,
                                 .links = 306 * kGB,
                                 .adapter = 24 * kGB,
                                 .adapters = 8,
                                 .protocols = {{"LL", 9.1e-6, 0.08, 2.35e-6, 5e-6},
                                               {"LL128", 40e-6, 0.9375, 1.9e-6, 8.5e-6},
                                               {"Simple", 116e-6, 1, 3.4e-6, 14e-6}}});
  cluster.levels[0].copy_bandwidth = 1129 * kGB;
  cluster.device.efficiency.at(WorkKind::product).columns = kWideProducts;
  cluster.fitted = {"device.efficiency.product.flops",
                    "device.efficiency.product.columns",
                    "device.launch_overhead",
                    "level[0].bandwidth",
                    "level[0].copy_bandwidth",
                    "protocol[1].overhead",
                    "protocol[2].overhead"};
  use_software(cluster, "megatron-lm");
  return cluster;
}

Cluster hopper(std::string device, double memory, double memory_bandwidth) {
  Cluster cluster = gpu_cluster({.device = std::move(device),
                                 .f16_peak = 989 * kTera,
                                 .f32_peak = 494 * kTera,
                                 .f64_peak = 67 * kTera,
                                 .plain_f32 = 67 * kTera,
                                 .memory = memory,
                                 .memory_bandwidth = memory_bandwidth,
                                 .best_product = 0.65,
                                 .attention = 0.9,
                                 .links = 366 * kGB,
                                 .adapter = 48 * kGB,
                                 .adapters = 8,
                                 .protocols = {{"LL", 25e-6, 0.107, 1e-6, 5e-6},
                                               {"LL128", 35.4e-6, 0.569, 1.9e-6, 8.5e-6},
                                               {"Simple", 82.9e-6, 1, 3.4e-6, 14e-6}}});
  cluster.device.efficiency.at(WorkKind::product).flops = {{30e9, 0.46}, {300e9, 0.65}};
  cluster.device.efficiency.at(WorkKind::product).columns = kWideProducts;
  cluster.levels[0].reduce_bandwidth = 306 * kGB;
  cluster.software.algorithms.push_back(CollectiveAlgorithm::in_network);
  cluster.fitted = {"device.efficiency.product.flops",
                    "device.efficiency.product.columns",
                    "level[0].bandwidth",
                    "level[0].reduce_bandwidth",
                    "protocol[0].overhead",
                    "protocol[1].overhead",
                    "protocol[2].overhead",
                    "protocol[0].bandwidth_share",
                    "protocol[1].bandwidth_share"};
  use_software(cluster, "megatron-core");
  return cluster;
}

/// Nodes of eight B200. Network steps are those of 400 Gb/s EFA adapters, which are slower than InfiniBand.
Cluster b200() {
  Cluster cluster =
      gpu_cluster({.device = "B200-SXM-180GB",
                   .f16_peak = 2250 * kTera,
                   .f32_peak = 1125 * kTera,
                   .f64_peak = 40 * kTera,
                   .plain_f32 = 80 * kTera,
                   .memory = 180 * kGB,
                   .memory_bandwidth = 8000 * kGB,
                   .best_product = 0.65,
                   .attention = 0.9,
                   .links = 730 * kGB,
                   .adapter = 48.7 * kGB,
                   .adapters = 8,
                   .protocols = {{"LL128", 42.2e-6, 0.273, 1.19e-6, 111e-6}, {"Simple", 96.1e-6, 1, 2.83e-6, 75e-6}}});
  cluster.levels[0].reduce_bandwidth = 483 * kGB;
  cluster.software.algorithms.push_back(CollectiveAlgorithm::in_network);
  cluster.fitted = {"level[0].bandwidth",   "level[0].latency",     "level[0].reduce_bandwidth",  "level[1].latency",
                    "protocol[0].overhead", "protocol[1].overhead", "protocol[0].bandwidth_share"};
  use_software(cluster, "megatron-core");
  return cluster;
}

/// Nodes of eight Ascend 910: two rings of four over HCCS, and a 100 Gb/s adapter for each device. The numbers are
/// recalled from the vendor's pages; none is fitted.
Cluster ascend910() {
  Cluster cluster = gpu_cluster({.device = "Ascend 910",
                                 .f16_peak = 256 * kTera,
                                 .f32_peak = 128 * kTera,
                                 .f64_peak = 1 * kTera,
                                 .memory = 32 * kGB,
                                 .memory_bandwidth = 1200 * kGB,
                                 .best_product = 0.75,
                                 .links = 30 * kGB,
                                 .adapter = 12 * kGB,
                                 .adapters = 8,
                                 .protocols = {{"HCCL", 20e-6, 1, 10e-6, 15e-6}}});
  cluster.software.algorithms = {CollectiveAlgorithm::ring, CollectiveAlgorithm::hierarchical};
  cluster.device.launch_overhead = 10e-6;
  return cluster;
}

/// A TPU: "v5e", its rate of products of bf16, bytes/s of its memory, and its links to others.
struct TpuFacts {
  std::string_view name;
  double bf16_peak, memory_bandwidth;  // flop/s; bytes/s
  int64_t chips;                       // chips of a host
  double links;                        // bytes/s of all links of a chip in one direction
  double outside;                      // bytes/s of the links to other hosts, per chip
};

/// Hosts of TPUs in one slice, whose links form a torus. Rates, memory and links are those of "System architecture" in
/// cloud.google.com/tpu/docs/v5e, v5p and v6e, read in 2026: 197, 459 and 918 TFLOP/s of bf16; 819, 2765 and 1638 GB/s;
/// 400, 1200 and 800 GB/s of a chip in both directions together. Collectives over all axes of the torus use all links
/// of a chip, as the published all-reduce bandwidth of a pod does; those over one axis are slower than they are priced
/// here. A host is a block of 2 x 4 chips, of v5p 2 x 2 x 1, which has 12 and 16 links to other hosts. Products of f32
/// are priced as six of bf16, those of f64 as f32. All other numbers are assumed, and nothing is fitted.
Cluster tpu(const TpuFacts& facts) {
  constexpr double kBf16PerF32 = 6;
  const pjrt::Target& target = pjrt::target_named(facts.name);
  Cluster cluster;
  cluster.device = {.name = target.chip,
                    .peak = {{DType::f32, facts.bf16_peak / kBf16PerF32}, {DType::bf16, facts.bf16_peak}},
                    .memory = static_cast<double>(target.memory),
                    .memory_bandwidth = facts.memory_bandwidth,
                    .launch_overhead = 1e-6,
                    .efficiency = gpu_efficiency(/*product=*/0.75, /*attention=*/0)};
  cluster.protocols = {{"ICI", 5e-6, 1}};
  cluster.levels = {{.name = "chip", .size = facts.chips, .bandwidth = facts.links, .latency = {1e-6}},
                    {.name = "host", .bandwidth = facts.outside, .links = facts.chips, .latency = {2e-6}}};
  cluster.software.overlap_slowdown = 1.1;
  cluster.reserve_memory = 0.5 * kGB;
  return cluster;
}

/// Eight cores of a server processor with AVX2, one rank on each, and 25 Gb/s Ethernet between nodes.
Cluster cpu() {
  Cluster cluster;
  cluster.device = {.name = "CPU core",
                    .peak = {{DType::f64, 45e9}, {DType::f32, 90e9}},
                    .memory = 8 * kGB,
                    .memory_bandwidth = 10 * kGB,
                    .launch_overhead = 2e-6,
                    .efficiency = {{WorkKind::product, {{{1e4, 0.2}, {1e6, 0.7}, {1e8, 0.9}}, {}}}}};
  cluster.protocols = {{"memory", 10e-6, 1, 0}};
  cluster.levels = {{.name = "core",
                     .size = kNodeRanks,
                     .bandwidth = 4 * kGB,
                     .links = 1,
                     .latency = {2e-6},
                     .total_bandwidth = 20 * kGB},
                    {.name = "node", .size = 1, .bandwidth = 2.8 * kGB, .links = 1, .latency = {30e-6}}};
  cluster.software = {.algorithms = {CollectiveAlgorithm::ring, CollectiveAlgorithm::hierarchical},
                      .channel_block = 16,
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
    {"a100-40", [] { return a100(40 * kGB, 1555 * kGB); }},
    {"a100-80", [] { return a100(80 * kGB, 2039 * kGB); }},
    {"h100", [] { return hopper("H100-SXM5-80GB", 80 * kGB, 3350 * kGB); }},
    {"h200", [] { return hopper("H200-SXM-141GB", 141 * kGB, 4800 * kGB); }},
    {"b200", b200},
    {"ascend910", ascend910},
    {"v5e",
     [] {
       return tpu({"v5e", 197 * kTera, 819 * kGB, 8, 200 * kGB, 75 * kGB});
     }},
    {"v5p",
     [] {
       return tpu({"v5p", 459 * kTera, 2765 * kGB, 4, 600 * kGB, 400 * kGB});
     }},
    {"v6e",
     [] {
       return tpu({"v6e", 918 * kTera, 1638 * kGB, 8, 400 * kGB, 150 * kGB});
     }},
    {"cpu", cpu},
};

int64_t parse_nodes(std::string_view text, std::string_view nodes) {
  int64_t count = 0;
  const auto [end, error] = std::from_chars(nodes.data(), nodes.data() + nodes.size(), count);
  const int64_t most = kMaxMeshRanks / kNodeRanks;
  if (error != std::errc() || end != nodes.data() + nodes.size() || count < 1 || count > most) {
    throw InvalidArgument(
        fmt::format("[cluster] bad number of nodes in '{}', got '{}', expected 1 to {}", text, nodes, most));
  }
  return count;
}

/// The parts of "NAME:NODES@SOFTWARE". Throws InvalidArgument for a bad number of nodes.
struct ClusterName {
  explicit ClusterName(std::string_view text) {
    const size_t at = std::min(text.find('@'), text.size());
    const std::string_view machines = text.substr(0, at);
    const size_t colon = machines.find(':');
    preset = machines.substr(0, colon);
    if (colon != std::string_view::npos) nodes = parse_nodes(text, machines.substr(colon + 1));
    if (at < text.size()) software = text.substr(at + 1);
  }

  std::string_view preset;
  int64_t nodes = 1;
  std::optional<std::string_view> software{};  // none: the usual software of the preset
};

/// Returns ", did you mean 'a100-40:8' or 'a100-80:8'?" with all presets that begin with `name`, if it has 3 letters or
/// more and there are any, each followed by `rest`. Else returns what `did_you_mean` does.
std::string meant_presets(const std::string& name, std::string_view rest) {
  constexpr size_t kMinBeginning = 3;
  std::vector<std::string> meant;
  for (const std::string& preset : preset_names()) {
    if (name.size() >= kMinBeginning && preset.starts_with(name)) meant.push_back(fmt::format("'{}{}'", preset, rest));
  }
  return meant.empty() ? did_you_mean(name, preset_names())
                       : fmt::format(", did you mean {}?", fmt::join(meant, " or "));
}

}  // namespace

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const Preset& preset : kPresets) names.emplace_back(preset.name);
  return names;
}

Cluster cluster_named(std::string_view text) {
  const auto [written, nodes, software] = ClusterName(text);
  const std::string name = lower_case(written);
  for (const Preset& preset : kPresets) {
    if (preset.name != name) continue;
    Cluster cluster = preset.make();
    cluster.name = fmt::format("{}:{}", name, nodes);
    cluster.levels.back().size = nodes;
    if (software) use_software(cluster, *software);
    verify(cluster);
    return cluster;
  }
  const std::vector<std::string> names = preset_names();
  throw InvalidArgument(fmt::format("[cluster] unknown preset, got '{}', expected one of {} with ':NODES', or a file{}",
                                    written, fmt::join(names, " "), meant_presets(name, text.substr(written.size()))),
                        ErrorKind::key);
}

std::string cluster_of_target(std::string_view text) {
  const ClusterName name(text);
  std::string cluster = pjrt::target_named(name.preset).name + std::string(text.substr(name.preset.size()));
  if (!name.software) cluster += fmt::format("@{}", kOwnSoftware);
  return cluster;
}

std::string with_more_nodes(std::string_view text, int64_t times) {
  const ClusterName name(text);
  return fmt::format("{}:{}{}", name.preset, name.nodes * times,
                     name.software ? fmt::format("@{}", *name.software) : "");
}

bool is_cluster_file(std::string_view text) {
  return text.find('/') != std::string_view::npos || text.ends_with(".toml");
}

Cluster open_cluster(std::string_view text) {
  return is_cluster_file(text) ? read_cluster(std::string(text)) : cluster_named(text);
}

}  // namespace partita
