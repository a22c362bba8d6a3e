#include "planner/pricing/layer_seconds.h"

namespace partita {

LayerSeconds::LayerSeconds(const FoldedGraph& folded, const LayerCosts& costs) {
  for (size_t u = 0; u < folded.units.size(); ++u) {
    const double forward = costs.units[u].forward.seconds(), all = forward + costs.units[u].backward.seconds();
    for (size_t copy = 0; copy < folded.units[u].count; ++copy) {
      layers_.push_back({u, all, folded.units[u].is_copy});
      forward_.push_back(forward_.back() + forward);
      all_.push_back(all_.back() + all);
    }
  }
}

const std::vector<size_t>& LayerSeconds::begins(int64_t stages, LayerSplit split) {
  const auto cached = begins_.find({stages, split});
  if (cached != begins_.end()) return cached->second;
  return begins_.emplace(std::pair(stages, split), assign_layers(layers_, stages, split)).first->second;
}

}  // namespace partita
