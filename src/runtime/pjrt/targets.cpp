#include "runtime/pjrt/targets.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "base/plain_text.h"

namespace partita::pjrt {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20, kGiB = int64_t{1} << 30;

/// Facts of a GPU that differ between generations, as its driver reports them.
struct GpuFacts {
  std::string name, chip;
  int major;                    // compute capability, minor 0
  bool has_accelerated;         // whether it has the features of "sm_90a"
  int cores, floats_per_core;   // streaming multiprocessors; operations of f32 in each
  double clock;                 // GHz
  int64_t memory, bandwidth;    // bytes; bytes/s
  int64_t cache;                // bytes of the L2 cache
  int64_t shared, shared_most;  // bytes of shared memory of a multiprocessor, and of a block that asks for more
};

/// Returns a GpuTargetConfigProto in the text format.
std::string target_config(const GpuFacts& facts) {
  std::string text = fmt::format(
      "gpu_device_info {{ threads_per_block_limit: 1024 threads_per_warp: 32 shared_memory_per_block: 49152 "
      "shared_memory_per_core: {} threads_per_core_limit: 2048 core_count: {} fpus_per_core: {} "
      "block_dim_limit_x: 2147483647 block_dim_limit_y: 65535 block_dim_limit_z: 65535 memory_bandwidth: {} "
      "l2_cache_size: {} clock_rate_ghz: {} device_memory_size: {} shared_memory_per_block_optin: {} ",
      facts.shared, facts.cores, facts.floats_per_core, facts.bandwidth, facts.cache, facts.clock, facts.memory,
      facts.shared_most);
  text += fmt::format(
      "cuda_compute_capability {{ major: {} feature_extension: {} }} registers_per_core_limit: 65536 "
      "registers_per_block_limit: 65536 thread_dim_limit_x: 1024 thread_dim_limit_y: 1024 thread_dim_limit_z: 64 "
      "device_vendor: \"NVIDIA Corporation\" device_address_bits: 64 name: \"{}\" driver_version: \"13.0.0\" "
      "runtime_version: \"13.0.0\" compile_time_toolkit_version: \"13.0.0\" dnn_version: \"9.10.0\" }} ",
      facts.major, facts.has_accelerated ? "ACCELERATED_FEATURES" : "NONE", facts.chip);
  return text +
         fmt::format("platform_name: \"CUDA\" dnn_version_info {{ major: 9 minor: 10 }} device_description_str: \"{}\"",
                     facts.chip);
}

Target gpu(const GpuFacts& facts) {
  return {.name = facts.name,
          .accelerator = "cuda",
          .chip = facts.chip,
          .memory = facts.memory,
          .topology = "",
          .options = {{"topology", "1x1x1"}, {"target_config", target_config(facts)}},
          .flags = {{"xla_gpu_autotune_level", int64_t{0}}}};
}

/// `type` is that of a machine with these chips (cloud.google.com/tpu/docs, "accelerator type").
Target tpu(const std::string& name, const std::string& chips, const std::string& type, int64_t memory) {
  return {.name = name,
          .accelerator = "tpu",
          .chip = "TPU " + name,
          .memory = memory,
          .topology = fmt::format("{}:{}", name, chips),
          .options = {},
          .flags = {},
          .variables = {{"TPU_ACCELERATOR_TYPE", type},
                        {"TPU_SKIP_MDS_QUERY", "1"},
                        {"ALLOW_MULTIPLE_LIBTPU_LOAD", "1"},
                        {"TPU_WORKER_HOSTNAMES", "localhost"},
                        {"TPU_WORKER_ID", "0"}}};
}

}  // namespace

const std::vector<Target>& targets() {
  static const std::vector<Target> all{
      gpu({"a100-40", "NVIDIA A100-SXM4-40GB", 8, false, 108, 64, 1.41, 42331013120, 1555200000000, 40 * kMiB, 167936,
           166912}),
      gpu({"a100-80", "NVIDIA A100-SXM4-80GB", 8, false, 108, 64, 1.41, 85100068864, 2039040000000, 40 * kMiB, 167936,
           166912}),
      gpu({"h100", "NVIDIA H100 80GB HBM3", 9, true, 132, 128, 1.98, 84942979072, 3352320000000, 50 * kMiB, 233472,
           232448}),
      gpu({"h200", "NVIDIA H200 141GB HBM3e", 9, true, 132, 128, 1.98, 151397597184, 4800000000000, 50 * kMiB, 233472,
           232448}),
      gpu({"b200", "NVIDIA B200", 10, true, 148, 128, 1.965, 191514411008, 7672320000000, 132644864, 233472, 232448}),
      tpu("v5e", "1x1", "v5litepod-1", 16 * kGiB),
      tpu("v5p", "2x2x1", "v5p-8", 95 * kGiB),
      tpu("v6e", "1x1", "v6e-1", 32 * kGiB)};
  return all;
}

const Target& target_named(std::string_view name) {
  std::vector<std::string> names;
  const std::string wanted = lower_case(name);
  for (const Target& target : targets()) {
    if (target.name == wanted || (wanted == "a100" && target.name == "a100-80")) return target;
    names.push_back(target.name);
  }
  throw unknown_name("[--target] unknown chip", name, fmt::format("one of {}", fmt::join(names, " ")), names,
                     ErrorKind::value);
}

Topology topology_of(const Plugin& plugin, const Target& target, int64_t chips) {
  NamedOptions options = target.options;
  if (chips > 1) {
    if (!options.contains("topology")) {
      throw InvalidArgument("[--target] programs for several chips, got {} of {}, expected GPUs, or --collectives cut",
                            chips, target.name);
    }
    options["topology"] = fmt::format("1x1x{}", chips);
  }
  Topology topology = plugin.topology(target.topology, options);
  if (const std::string platform = topology.platform(); platform != target.accelerator) {
    throw RuntimeFailure(ExitCode::usage, "[--target] {} needs another plugin, got one for {}, expected one for {}",
                         target.name, platform, target.accelerator);
  }
  return topology;
}

}  // namespace partita::pjrt
