#pragma once
// The layers of each pipeline stage under a configuration, and their costs.

#include <array>
#include <memory>
#include <vector>

#include "planner/cluster/place.h"
#include "planner/pricing/layers/places.h"
#include "planner/pricing/step/kept_micro_batches.h"
#include "planner/pricing/step/order_cache.h"
#include "planner/pricing/step/stage_layout.h"

namespace partita {

/// The input of the costs of stages. All that it refers to must outlive its use.
struct PriceRequest {
  const FoldedGraph& folded;
  const std::vector<bool>& recomputable;  // per unit of `folded`, whether a policy recomputes something of it
  /// The costs of layers for the micro-batch of the configuration. The results must outlive the request.
  CostsOfPolicy costs;
  Configuration configuration;  // completed
  int64_t batch = 1;            // rows of the global batch
  double step_flops = 0;        // floating-point operations of a step on all ranks together, without recomputation
  const Cluster& cluster;
  const DeviceSpec& device;  // device of a rank of the cluster
  Places& places;            // placements on the cluster
  OrderCache& orders;
  KeptMicroBatchesCache& kept_micro_batches;
  Precision precision;
  std::shared_ptr<const StageLayout> layout{};  // layout of the configuration; null: it is made
};

/// The costs of stages: sums over their layers, without the messages among the ranks that share the batch. Stages are
/// contiguous units, assigned by the configuration.
class StageCosts {
 public:
  /// References in the request must outlive this object. Throws InvalidArgument for more stages than layers, or more
  /// recomputed layers than a group has, and as `request.costs` does.
  explicit StageCosts(PriceRequest request);
  StageCosts(const StageCosts&) = delete;  // it refers to its own request

  const PriceRequest& request() const { return request_; }
  const Configuration& configuration() const { return configuration_; }
  int64_t micro_batches() const { return micro_batches_; }
  /// The ranks of a group of stages.
  const Places::Ranks& ranks() const { return ranks_; }
  /// Number of ranks that share the batch, each with its own rows.
  int64_t sharing_ranks() const { return configuration_.data * configuration_.context; }
  int64_t stages() const { return configuration_.pipeline * configuration_.interleave; }
  int group_of(int64_t stage) const { return static_cast<int>(stage % configuration_.pipeline); }

  /// The costs of layers that all have this policy. Throws InvalidArgument if nothing can be recomputed so.
  const LayerCosts& costs(Recompute policy) const;
  /// The costs under the policy `recompute.all`, for values that do not depend on recomputation.
  const LayerCosts& costs() const { return costs(configuration_.recompute.all); }
  const UnitCosts& stage(int64_t stage) const { return layout_->stage(stage); }
  const UnitCosts& group(int64_t group) const { return layout_->group(group); }
  /// Returns the costs of the unrepeated layers of a stage. A kept value counts for the first layer whose backward pass
  /// reads it, not for the layer that makes it.
  UnitCosts single_costs(int64_t stage) const;

  /// The layers of each stage of a group.
  const std::vector<StageLayers>& layers_of(int64_t group) const { return layout_->layers_of(group); }
  const StageLayers& layers_of_stage(int64_t stage) const {
    return layers_of(group_of(stage))[static_cast<size_t>(stage / configuration_.pipeline)];
  }
  /// Bytes that a micro-batch keeps on a stage from its forward pass to its last section, with several stages including
  /// the values that cross to it.
  double kept(int64_t stage) const { return this->stage(stage).kept + boundary(stage); }
  /// Bytes that a micro-batch would keep on a stage, as by the other overload, if it had these layers with these
  /// policies.
  double kept(int64_t stage, const StageLayers& layers) const;
  /// Bytes that the `layers` of a stage keep for a micro-batch from its forward pass to its backward pass, including
  /// those that only the next stage reads.
  double kept_by(const StageLayers& layers) const;

 private:
  double boundary(int64_t stage) const { return stages() > 1 ? this->stage(stage).boundary : 0; }

  const PriceRequest request_;
  const Configuration& configuration_;
  const int64_t micro_batches_;
  const Places::Ranks ranks_;
  mutable std::array<const LayerCosts*, kNames<Recompute>.size()> costs_{};  // by policy; null: not needed yet
  const std::shared_ptr<const StageLayout> layout_;
};

}  // namespace partita
