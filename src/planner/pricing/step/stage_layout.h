#pragma once
// The layers of each pipeline stage, and the sums of their costs.

#include <functional>
#include <vector>

#include "planner/pricing/layers/stage_layers.h"
#include "planner/pricing/layers/unit_costs.h"

namespace partita {

/// The costs of layers that all have the same policy. Throws InvalidArgument if nothing can be recomputed so.
using CostsOfPolicy = std::function<const LayerCosts&(Recompute)>;

/// The layers of the stages of a configuration, which are contiguous units, and the sums of their costs, without the
/// messages among the ranks that share the batch. They depend on the stages, the micro-batch and the recomputation of
/// the configuration.
class StageLayout {
 public:
  /// `recomputable`: per unit of `folded`, whether a policy recomputes something of it. Throws InvalidArgument for more
  /// stages than layers, or more recomputed layers than a group has, and as `costs` does.
  StageLayout(const FoldedGraph& folded, const std::vector<bool>& recomputable, const Configuration& configuration,
              const CostsOfPolicy& costs);

  const UnitCosts& stage(int64_t stage) const { return stage_sums_[of_stage_[static_cast<size_t>(stage)]]; }
  const UnitCosts& group(int64_t group) const { return group_sums_[of_group_[static_cast<size_t>(group)]]; }
  /// The layers of each stage of a group.
  const std::vector<StageLayers>& layers_of(int64_t group) const { return layers_[static_cast<size_t>(group)]; }
  /// Bytes of the layers of a stage that only the next stage keeps.
  double handed(int64_t stage) const { return handed_[static_cast<size_t>(stage)]; }

 private:
  int64_t stages() const { return static_cast<int64_t>(handed_.size()); }
  const StageLayers& layers_of_stage(int64_t stage) const;
  void split(const FoldedGraph& folded, const Configuration& configuration, const CostsOfPolicy& costs);
  void choose_recomputed_layers(const std::vector<bool>& recomputable, const RecomputedLayers& recompute);
  void add_up_stages(const CostsOfPolicy& costs);
  void add_up_groups();

  std::vector<std::vector<StageLayers>> layers_;  // per group and stage of the group
  std::vector<double> handed_;                    // per stage
  std::vector<UnitCosts> stage_sums_, group_sums_;
  std::vector<size_t> of_stage_, of_group_;  // index of the sum; neighbours that are alike share one
};

}  // namespace partita
