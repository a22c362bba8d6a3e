#pragma once
// The layers of each pipeline stage under a configuration, and what they cost.

#include <array>
#include <functional>
#include <vector>

#include "planner/cluster/place.h"
#include "planner/pricing/kept_micro_batches.h"
#include "planner/pricing/known_orders.h"
#include "planner/pricing/places.h"
#include "planner/pricing/stage_layers.h"
#include "planner/pricing/unit_costs.h"

namespace partita {

struct PriceRequest {
  const FoldedGraph& folded;
  const std::vector<bool>& recomputable;  // whether a policy recomputes something of each unit of `folded`
  /// Of layers that are all recomputed by a policy, for the micro-batch of the configuration. What it returns outlives
  /// the request. Throws InvalidArgument where nothing can be recomputed so.
  std::function<const LayerCosts&(Recompute)> costs;
  Configuration configuration;  // completed
  int64_t batch = 1;            // rows of the global batch
  double step_flops = 0;        // floating-point operations of the network in a step, on all ranks together
  const Cluster& cluster;
  const DeviceSpec& device;  // of a rank of that cluster
  Places& places;            // on it
  KnownOrders& orders;
  KnownKeptMicroBatches& kept_micro_batches;
  Precision precision;
};

/// Stages are contiguous units; the configuration says how they are dealt out. Sums of the costs of layers, before what
/// the ranks that share the batch send to one another.
class StageCosts {
 public:
  /// Throws InvalidArgument for more stages than layers, or more recomputed layers than a group has. What the request
  /// refers to outlives this.
  explicit StageCosts(PriceRequest request);
  StageCosts(const StageCosts&) = delete;  // it refers to its own request

  const PriceRequest& request() const { return request_; }
  const Configuration& configuration() const { return configuration_; }
  int64_t micro_batches() const { return micro_batches_; }
  /// The ranks of a group of stages.
  const Places::Ranks& ranks() const { return ranks_; }
  /// Number of ranks that share the batch, each with rows of its own.
  int64_t sharing_ranks() const { return configuration_.data * configuration_.context; }
  int64_t stages() const { return configuration_.pipeline * configuration_.interleave; }
  int group_of(int64_t stage) const { return static_cast<int>(stage % configuration_.pipeline); }

  /// Of layers that are all recomputed by a policy. Throws InvalidArgument where nothing can be.
  const LayerCosts& costs(Recompute policy) const;
  /// The same by the policy of all layers, for what recomputation does not change.
  const LayerCosts& costs() const { return costs(configuration_.recompute.all); }
  const UnitCosts& stage(int64_t stage) const { return stages_[static_cast<size_t>(stage)]; }
  const UnitCosts& group(int64_t group) const { return groups_[static_cast<size_t>(group)]; }
  /// Of the layers of a stage of which the network has one alone. What a layer keeps for those after it alone is
  /// theirs.
  UnitCosts single_costs(int64_t stage) const;

  const std::vector<StageLayers>& layers_of(int64_t group) const { return layers_[static_cast<size_t>(group)]; }
  const StageLayers& layers_of_stage(int64_t stage) const {
    return layers_of(group_of(stage))[static_cast<size_t>(stage / configuration_.pipeline)];
  }
  bool has_layers_of(const StageCosts& other) const { return layers_ == other.layers_; }
  /// Bytes that a micro-batch keeps on a stage from its forward to its last section.
  double kept(int64_t stage) const { return this->stage(stage).kept + boundary(stage); }
  /// The same, were the layers of the stage these.
  double kept(int64_t stage, const StageLayers& layers) const;
  /// Bytes that such layers keep, those that only the next stage reads among them.
  double kept_by(const StageLayers& layers) const;

 private:
  void deal();
  void choose_recomputed_layers();
  void add_up();
  UnitCosts costs_of(const StageLayers& layers) const;
  double boundary(int64_t stage) const { return stages() > 1 ? this->stage(stage).boundary : 0; }

  const PriceRequest request_;
  const Configuration& configuration_;
  const int64_t micro_batches_;
  const Places::Ranks ranks_;
  mutable std::array<const LayerCosts*, kNames<Recompute>.size()> costs_{};  // those that were needed
  std::vector<std::vector<StageLayers>> layers_;                             // of the stages of each group
  std::vector<UnitCosts> stages_, groups_;
  std::vector<double> handed_;  // per stage: bytes that it keeps and that only the next one reads
};

}  // namespace partita
