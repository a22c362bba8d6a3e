#pragma once
// The seconds of the layers of a network in their order, and how they are split into stages.

#include <map>
#include <utility>

#include "planner/pricing/layers/assign_layers.h"
#include "planner/pricing/layers/unit_costs.h"

namespace partita {

/// Returns all layers of a network in their order, each copy by itself, with their seconds of a micro-batch.
std::vector<AssignedLayer> layers_in_order(const FoldedGraph& folded, const LayerCosts& costs);

/// The seconds of a micro-batch in every layer. Splits are cached.
class LayerSeconds {
 public:
  /// The arguments need not outlive this object.
  LayerSeconds(const FoldedGraph& folded, const LayerCosts& costs);

  /// Returns the first layer of each of `stages` stages and, last, the number of layers (`assign_layers`). The
  /// reference lives as long as this object. Throws InvalidArgument if there are more stages than layers.
  const std::vector<size_t>& begins(int64_t stages, LayerSplit split);
  /// Seconds of the forward pass of some contiguous layers, and of their forward and backward passes together.
  double forward(size_t begin, size_t end) const { return forward_[end] - forward_[begin]; }
  double all(size_t begin, size_t end) const { return all_[end] - all_[begin]; }

 private:
  std::vector<AssignedLayer> layers_;
  std::vector<double> forward_{0}, all_{0};  // sums over the layers before each
  std::map<std::pair<int64_t, LayerSplit>, std::vector<size_t>> begins_;
};

}  // namespace partita
