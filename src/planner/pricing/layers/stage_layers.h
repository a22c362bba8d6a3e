#pragma once
// The layers of a pipeline stage, and which of them are recomputed.

#include <array>

#include "ir/work/repeated_layers.h"
#include "planner/pricing/layers/configuration.h"

namespace partita {

/// The number of copies of a unit on a stage, by policy. Copies recomputed in full come first, then selective ones,
/// then those that are not recomputed.
struct UnitCopies {
  std::array<size_t, kNames<Recompute>.size()> by_policy{};
  size_t& of(Recompute policy) { return by_policy[static_cast<size_t>(policy)]; }
  size_t of(Recompute policy) const { return by_policy[static_cast<size_t>(policy)]; }
  size_t count() const { return by_policy[0] + by_policy[1] + by_policy[2]; }
  bool operator==(const UnitCopies&) const = default;
};
/// The policies in the order of the copies.
inline constexpr std::array kPoliciesInOrder{Recompute::full, Recompute::selective, Recompute::none};

/// The layers of a stage: one entry per unit of the folded graph.
using StageLayers = std::vector<UnitCopies>;

/// Per unit, whether one of the policies recomputes something of it.
std::vector<bool> recomputable_units(const FoldedGraph& folded, const OpSet& ops);

/// Number of copies of recomputable units on a stage.
int64_t recomputable_layers(const StageLayers& stage, const std::vector<bool>& recomputable);

/// Sets the policies of a stage: the first `left.full` recomputable layers are recomputed in full, the next
/// `left.selective` ones selectively, and the others not. Subtracts the layers that the stage takes from `left`.
void choose_policies(StageLayers& stage, const std::vector<bool>& recomputable, RecomputedLayers::Counts& left);

}  // namespace partita
