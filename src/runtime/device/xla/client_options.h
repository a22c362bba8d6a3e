#pragma once
// The options with which a plugin makes a client, and the flags with which it compiles programs.

#include <functional>
#include <memory>
#include <optional>

#include "compiler/emit/collective_mode.h"
#include "runtime/device/device_memory.h"
#include "runtime/device/xla/plugin_search.h"
#include "runtime/device/xla/program_cache.h"
#include "runtime/pjrt/plugin.h"

namespace partita {

/// Devices of the plugin for CPUs in whole mode, and so the largest number of ranks.
inline constexpr int64_t kCpuDevices = 8;

/// The place of a process among those whose devices run one program.
struct JoinedProcess {
  int rank = 0, count = 1;
  int on_host = 0;  // position among those on its host: the device it takes if the name of the device has no index
  /// Makes the store that these processes share. Called once for each client, by all of them.
  std::function<std::shared_ptr<pjrt::KeyValueStore>()> share = nullptr;
  /// Checks that no process has failed. Throws its error otherwise.
  std::function<void()> check = nullptr;
};

struct OpenOptions {
  CollectiveMode collectives = CollectiveMode::cut;
  bool deterministic = false;                 // whether a program gives the same bits in every run
  double memory = kDeviceMemory;              // share of the device's memory that the client takes, at most
  std::optional<JoinedProcess> process = {};  // none: programs communicate within the process, if at all
  Warn warn = nullptr;
};

/// Whether the compiler for a vendor's devices has a flag without which programs may change their bits.
bool has_deterministic_flag(const Vendor& vendor);

/// Whether the client of a vendor's plugin takes a share of the memory that is asked for.
bool takes_share_of_memory(const Vendor& vendor);

/// Returns the options of a client. `named`: the index in the name of the device, -1 if there is none. Of several
/// processes each takes that one, or the device of its place on the host. If CUDA_VISIBLE_DEVICES,
/// ROCR_VISIBLE_DEVICES or ZE_AFFINITY_MASK leaves it one device alone, it takes this one.
pjrt::NamedOptions client_options(const Vendor& vendor, int named, const OpenOptions& options);

/// Returns the flags of each compilation by the plugin at a path. Throws RuntimeFailure(usage) if the plugin lacks one
/// that `options` ask for.
std::map<std::string, pjrt::Flag> program_flags(const Vendor& vendor, const std::string& plugin,
                                                const OpenOptions& options);

}  // namespace partita
