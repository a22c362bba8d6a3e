#include "runtime/device/xla/client_options.h"

#include <cstdlib>

#include "base/error.h"
#include "runtime/device/xla/xla_flags.h"

namespace partita {
namespace {

/// Whether the environment shows this process one device alone of those that the host has.
bool sees_one_device(const Vendor& vendor) {
  const char* variable = vendor.name == "cuda"   ? "CUDA_VISIBLE_DEVICES"
                         : vendor.name == "rocm" ? "ROCR_VISIBLE_DEVICES"
                                                 : "ZE_AFFINITY_MASK";
  const char* list = std::getenv(variable);
  return list != nullptr && *list != '\0' && std::string_view(list).find(',') == std::string_view::npos;
}

}  // namespace

bool has_deterministic_flag(const Vendor& vendor) { return vendor.name == "cuda" || vendor.name == "rocm"; }

bool takes_share_of_memory(const Vendor& vendor) { return vendor.name == "cuda" || vendor.name == "rocm"; }

pjrt::NamedOptions client_options(const Vendor& vendor, int named, const OpenOptions& options) {
  pjrt::NamedOptions made;
  if (vendor.platform == "tpu") return made;  // its plugin has its own ways to know
  if (vendor.platform != "cpu") made["preallocate"] = false;
  if (takes_share_of_memory(vendor)) made["memory_fraction"] = static_cast<float>(options.memory);
  if (vendor.platform == "cpu" && options.collectives == CollectiveMode::whole) made["cpu_device_count"] = kCpuDevices;
  if (!options.process) return made;
  made["node_id"] = int64_t{options.process->rank};
  made["num_nodes"] = int64_t{options.process->count};
  if (vendor.platform == "cpu") {
    made["cpu_device_count"] = int64_t{1};
  } else {
    const int64_t own = sees_one_device(vendor) ? 0 : options.process->on_host;
    made["visible_devices"] = std::vector<int64_t>{named >= 0 ? named : own};
  }
  return made;
}

std::map<std::string, pjrt::Flag> program_flags(const Vendor& vendor, const std::string& plugin,
                                                const OpenOptions& options) {
  std::map<std::string, pjrt::Flag> flags = compile_flags(vendor.name, plugin);
  if (options.deterministic && has_deterministic_flag(vendor)) {
    const std::string flag = "xla_gpu_deterministic_ops";
    if (!knows_flag(plugin, flag)) {
      throw RuntimeFailure(ExitCode::usage,
                           "[--deterministic] the plugin has no such flag, got {} without {}, expected one that has "
                           "it, or no --deterministic",
                           plugin, flag);
    }
    flags[flag] = true;
  }
  // One process compiles what all of them run, so it must not wait for the others to try kernels.
  const std::string tuning = "xla_gpu_shard_autotuning";
  if (options.process && knows_flag(plugin, tuning) && !given_flags().contains(tuning)) flags[tuning] = false;
  return flags;
}

}  // namespace partita
