#pragma once
// How programs of accelerators communicate and compute attention, as configurations ask for it.

#include <string>
#include <string_view>

#include "compiler/emit/attention_mode.h"
#include "compiler/emit/collective_mode.h"

namespace partita {

struct RanksConfig;

/// A CollectiveMode, or automatic: the mode that `choose_modes` takes.
enum class CollectiveChoice { automatic, cut, whole };
constexpr auto value_names(CollectiveChoice) { return names("auto", "cut", "whole"); }
/// An AttentionMode, or automatic: the mode that `choose_modes` takes.
enum class AttentionChoice { automatic, composed, fused };
constexpr auto value_names(AttentionChoice) { return names("auto", "composed", "fused"); }

struct AcceleratorModes {
  CollectiveMode collectives = CollectiveMode::cut;
  AttentionMode attention = AttentionMode::composed;
  bool operator==(const AcceleratorModes&) const = default;
};

/// Modes that a configuration leaves to `auto`.
struct OpenModes {
  bool collectives = false, attention = false;
};

/// Whether the faster modes ran on hardware of a kind, with results that were compared. The table of the guide to
/// accelerators says the same.
struct ProvenModes {
  bool whole = false, fused = false;
};

/// Returns what ran on hardware of a kind of device (`device_kind`).
ProvenModes proven_modes(std::string_view kind);

/// Returns the modes of a configuration. Where it leaves one open, it is the faster one if that is proven and two runs
/// need not have the same bits (`deterministic`), else cut and composed.
AcceleratorModes choose_modes(const RanksConfig& ranks, const ProvenModes& proven);
/// Returns the modes of a configuration by the `proven_modes` of its device.
AcceleratorModes choose_modes(const RanksConfig& ranks);

/// Where a configuration left a mode open, and a faster one that is not proven would have had an effect.
struct SlowerModes {
  bool collectives = false;  // ranks with a device each communicate through the host
  bool attention = false;    // attention that could be fused is composed
};

/// Returns the warning that names the flags of the faster modes on a kind of device, "" if there are none.
std::string note_on_modes(std::string_view kind, const SlowerModes& slower);

}  // namespace partita
