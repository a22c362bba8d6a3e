#pragma once
// Chips for which programs are compiled without having one.

#include "runtime/pjrt/plugin.h"

namespace partita::pjrt {

struct Target {
  std::string name;         // "h100"
  std::string accelerator;  // device whose plugin compiles for it: "cuda", "tpu"
  std::string chip;         // "NVIDIA H100 80GB HBM3"
  int64_t memory = 0;       // bytes of the chip
  std::string topology;     // name that the plugin has for one chip, or the fewest that it knows
  NamedOptions options;     // options with which the topology is made
  /// Flags of a compilation that has no chip, on which nothing can be timed.
  std::map<std::string, Flag> flags;
  /// Variables that the plugin reads: for which machine of a cloud it compiles.
  std::map<std::string, std::string> variables{};
};

/// Returns all targets.
const std::vector<Target>& targets();
/// Returns a target by its name; "a100" is "a100-80". Throws InvalidArgument, with the nearest name, for others.
const Target& target_named(std::string_view name);

/// Returns `chips` chips of a target, for that many replicas of a program. Throws RuntimeFailure(usage) if the plugin
/// does not compile without a device, does not know the chip, or is for another platform; InvalidArgument for several
/// TPUs, whose topologies are not in the table.
Topology topology_of(const Plugin& plugin, const Target& target, int64_t chips = 1);

}  // namespace partita::pjrt
