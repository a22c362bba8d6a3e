#pragma once
// Seconds of the stages of a configuration: what they compute and send, before a step of them is followed.

#include <map>
#include <tuple>
#include <vector>

#include "planner/pricing/stage_costs.h"

namespace partita {

/// Seconds of stages and of groups of ranks, whatever the order that runs them.
class StageSeconds {
 public:
  /// `stages` outlives this.
  explicit StageSeconds(const StageCosts& stages);

  /// Seconds of a micro-batch on the slowest stage, without transfers, and of all stages on average.
  double slowest() const;
  double average() const;
  /// What the order is made for: sections of stages with their seconds, transfers included, and the micro-batches that
  /// are followed, of which the others are repetitions.
  const PipelineShape& shape() const { return shape_; }
  /// The order of these, of a single stage as well.
  const Sequence& sequence() const;

  // Of a group, all micro-batches of a step.
  double computed(int64_t group) const;
  double transfers(int64_t group) const;
  /// Were each as those in the middle of a step.
  double repeated(int64_t group) const;

  /// Seconds in which a stage gets what a micro-batch has at its boundary: each element is sent once, and gathered
  /// where several ranks need it. 0 for the first stage.
  double transfer(int64_t stage) const;
  /// Of what a layer sends to the ranks that share the batch, besides what is late of it. Groups that lie alike take as
  /// long, and those of a level are found once.
  const SecondsByKind& gradients(size_t unit, int64_t group, int64_t zero) const;
  /// Seconds of the kernels that update the parameters of `costs`.
  double update(const UnitCosts& costs, int64_t zero) const;

 private:
  const StageCosts& stages_;
  const Configuration& configuration_;
  std::vector<double> seconds_;    // per stage: of a micro-batch, without transfers
  std::vector<double> transfers_;  // per stage: seconds of what it sends and gets, for a micro-batch
  PipelineShape shape_;
  std::vector<const GroupPlace*> batch_places_;  // per group: of the ranks that share parameters, if several
  mutable std::map<std::tuple<int, int, double>, double> known_transfers_;  // by groups and bytes
  mutable std::map<std::tuple<const GroupPlace*, size_t, int64_t>, SecondsByKind> known_gradients_;
  mutable const Sequence* sequence_ = nullptr;  // once it was asked for
};

}  // namespace partita
