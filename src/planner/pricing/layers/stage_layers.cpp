#include "planner/pricing/layers/stage_layers.h"

#include <algorithm>

namespace partita {

std::vector<bool> recomputable_units(const FoldedGraph& folded, const OpSet& ops) {
  const auto is_recomputable = [&](const Node& node) {
    return !recomputed_group(node, Recompute::full, ops).empty() ||
           !recomputed_group(node, Recompute::selective, ops).empty();
  };
  std::vector<bool> result;
  for (const FoldedUnit& unit : folded.units) {
    const auto first = folded.graph.nodes.begin();
    result.push_back(std::any_of(first + static_cast<std::ptrdiff_t>(unit.begin),
                                 first + static_cast<std::ptrdiff_t>(unit.end), is_recomputable));
  }
  return result;
}

int64_t recomputable_layers(const StageLayers& stage, const std::vector<bool>& recomputable) {
  size_t count = 0;
  for (size_t u = 0; u < stage.size(); ++u) count += recomputable[u] ? stage[u].count() : 0;
  return static_cast<int64_t>(count);
}

void choose_policies(StageLayers& stage, const std::vector<bool>& recomputable, RecomputedLayers::Counts& left) {
  for (size_t u = 0; u < stage.size(); ++u) {
    UnitCopies& copies = stage[u];
    auto open = static_cast<int64_t>(copies.count());
    copies = {};
    const auto take = [&](Recompute policy, int64_t& wanted) {
      const int64_t taken = recomputable[u] ? std::min(open, wanted) : 0;
      copies.of(policy) = static_cast<size_t>(taken);
      wanted -= taken;
      open -= taken;
    };
    take(Recompute::full, left.full);
    take(Recompute::selective, left.selective);
    copies.of(Recompute::none) = static_cast<size_t>(open);
  }
}

}  // namespace partita
