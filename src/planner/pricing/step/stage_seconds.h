#pragma once
// The times of the stages of a configuration, without simulating a step.

#include <map>
#include <tuple>
#include <vector>

#include "planner/pricing/step/stage_costs.h"

namespace partita {

/// Seconds of stages and of groups of stages, for any order.
class StageSeconds {
 public:
  /// `stages` must outlive this object. Throws InvalidArgument if the cluster has too few ranks.
  explicit StageSeconds(const StageCosts& stages);

  /// The pipeline that the order is made for: the sections of stages with their seconds, including transfers, and the
  /// micro-batches to simulate. The other micro-batches repeat these.
  const PipelineShape& shape() const { return shape_; }
  /// Returns the order of the sections, made on first use; a single stage has one, too. Throws InvalidArgument if the
  /// order has more than kMaxStageMicroBatches stages times micro-batches.
  const Sequence& sequence() const;

  /// Seconds of all micro-batches of a step in the sections of a group, without transfers between stages.
  double computed(int64_t group) const;
  /// Seconds of all transfers of a group in a step.
  double transfers(int64_t group) const;
  /// Seconds of a group in a step if all micro-batches took as long as those in the middle of it. Transfers overlap
  /// with computation unless the software waits for them.
  double repeated(int64_t group) const;

  /// Seconds in which a stage receives the boundary values of a micro-batch. Each element is sent once, and gathered if
  /// several ranks need it. 0 for the first stage, and without a pipeline.
  double transfer(int64_t stage) const { return received_[static_cast<size_t>(stage)]; }
  /// Whether two groups of stages have the same layers and send the same messages among the ranks that share the batch.
  bool send_alike(int64_t group, int64_t other) const;
  /// Returns the seconds per step of the messages of one layer, a copy of `unit`, among the ranks that share the batch,
  /// without its late sums (UnitCosts): the reduction of gradients, and the gathers of parameters at level `zero`.
  /// Empty if no ranks share the batch. Results are cached by placement and level.
  const SecondsByKind& gradients(size_t unit, int64_t group, int64_t zero) const;
  /// Whether a group computes nothing while it reduces the gradients of a micro-batch at level `zero`. With one
  /// micro-batch reductions overlap with the backward pass, and below level 2 they are made once per step.
  bool waits_for_micro_batches(int64_t zero) const;
  /// Seconds of the kernels that update the parameters of `costs`; from level 1 on, only a rank's part of them. Small
  /// parameters, which stay whole in memory, take little time and count as parts, too.
  double update(const UnitCosts& costs, int64_t zero) const;

 private:
  std::vector<double> find_transfers() const;

  const StageCosts& stages_;
  const Configuration& configuration_;
  std::vector<double> seconds_;    // per stage: a micro-batch, without transfers
  std::vector<double> received_;   // per stage: what it receives for a micro-batch
  std::vector<double> transfers_;  // per stage: what it sends and receives for a micro-batch
  PipelineShape shape_;
  std::vector<const GroupPlace*> batch_places_;  // per group: ranks that share parameters; empty: one rank
  mutable std::map<std::tuple<const GroupPlace*, size_t, int64_t>, SecondsByKind> gradient_cache_;
  mutable const Sequence* sequence_ = nullptr;  // null: not made yet
};

}  // namespace partita
