#pragma once
// Which layers a pipeline stage has, and which of them are recomputed.

#include <array>

#include "ir/work/repeated_layers.h"
#include "planner/pricing/configuration.h"

namespace partita {

/// The copies of a unit on a stage, by policy; those recomputed in full are in front, those not recomputed at the end.
struct UnitCopies {
  std::array<size_t, kNames<Recompute>.size()> by_policy{};
  size_t& of(Recompute policy) { return by_policy[static_cast<size_t>(policy)]; }
  size_t of(Recompute policy) const { return by_policy[static_cast<size_t>(policy)]; }
  size_t count() const { return by_policy[0] + by_policy[1] + by_policy[2]; }
  bool operator==(const UnitCopies&) const = default;
};
inline constexpr std::array kPoliciesInOrder{Recompute::full, Recompute::selective, Recompute::none};

/// By unit of the folded graph.
using StageLayers = std::vector<UnitCopies>;

/// Per unit whether one of the policies recomputes something of it.
std::vector<bool> recomputable_units(const FoldedGraph& folded, const OpSet& ops);

/// The copies of recomputable units.
int64_t recomputable_layers(const StageLayers& stage, const std::vector<bool>& recomputable);

/// The first `full` recomputable layers are recomputed in full, the `selective` ones behind them selectively, others
/// not; both numbers are lessened by the layers that the stage has of them.
void choose_policies(StageLayers& stage, const std::vector<bool>& recomputable, RecomputedLayers::Counts& left);

}  // namespace partita
