#include "planner/pricing/layers/layer_seconds.h"

namespace partita {

std::vector<AssignedLayer> layers_in_order(const FoldedGraph& folded, const LayerCosts& costs) {
  std::vector<AssignedLayer> layers;
  for (size_t u = 0; u < folded.units.size(); ++u) {
    layers.insert(layers.end(), folded.units[u].count, {u, costs.units[u].seconds(), folded.units[u].is_copy});
  }
  return layers;
}

LayerSeconds::LayerSeconds(const FoldedGraph& folded, const LayerCosts& costs)
    : layers_(layers_in_order(folded, costs)) {
  for (const AssignedLayer& layer : layers_) {
    forward_.push_back(forward_.back() + costs.units[layer.unit].forward.seconds());
    all_.push_back(all_.back() + layer.seconds);
  }
}

const std::vector<size_t>& LayerSeconds::begins(int64_t stages, LayerSplit split) {
  const auto cached = begins_.find({stages, split});
  if (cached != begins_.end()) return cached->second;
  return begins_.emplace(std::pair(stages, split), assign_layers(layers_, stages, split)).first->second;
}

}  // namespace partita
