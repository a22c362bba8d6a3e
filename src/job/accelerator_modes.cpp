#include "job/accelerator_modes.h"

#include <fmt/format.h>

#include "job/config.h"
#include "runtime/device/xla/plugin_search.h"

namespace partita {

// No mode is proven yet. One becomes so together with the table of docs/guide/accelerators.md, when
// tools/gpu/first_hour.sh has passed. Before `whole` does, what it refuses (ranks that share a device, some moves)
// has to be known here, so that auto takes cut for it.
ProvenModes proven_modes(std::string_view /*kind*/) { return {}; }

AcceleratorModes choose_modes(const RanksConfig& ranks, const ProvenModes& proven) {
  const std::string_view kind = device_kind(ranks.device);
  AcceleratorModes modes;
  if (ranks.collectives == CollectiveChoice::whole ||
      (ranks.collectives == CollectiveChoice::automatic && proven.whole && !ranks.deterministic && kind != "cpu")) {
    modes.collectives = CollectiveMode::whole;
  }
  if (ranks.attention == AttentionChoice::fused ||
      (ranks.attention == AttentionChoice::automatic && proven.fused && !ranks.deterministic && kind == "cuda")) {
    modes.attention = AttentionMode::fused;
  }
  return modes;
}

AcceleratorModes choose_modes(const RanksConfig& ranks) {
  return choose_modes(ranks, proven_modes(device_kind(ranks.device)));
}

std::string note_on_modes(std::string_view kind, const SlowerModes& slower) {
  std::string chosen, faster;
  const auto add = [&](bool is_slower, std::string_view flag, std::string_view got, std::string_view other) {
    if (!is_slower) return;
    chosen += fmt::format("{}{} {}", chosen.empty() ? "" : " ", flag, got);
    faster += fmt::format("{}{} {}", faster.empty() ? "" : " ", flag, other);
  };
  add(slower.collectives, "--collectives", name_of(CollectiveMode::cut), name_of(CollectiveMode::whole));
  add(slower.attention, "--attention", name_of(AttentionMode::composed), name_of(AttentionMode::fused));
  if (chosen.empty()) return "";
  return fmt::format(
      "[device] auto takes what has run on {}, got {}, expected the same, or what is faster and has not "
      "run there: {}",
      kind, chosen, faster);
}

}  // namespace partita
