#pragma once
// The layers of the stages of a configuration, with the seconds of their messages among the ranks that share the batch.

#include "planner/pricing/step/simulate_step.h"

namespace partita {

struct StepLayer {
  LayerOfStage of{};
  double gather = 0, reduce = 0;
  double gather_updated = 0;  // once per step, after the update or before the next step
  Collective reduction = Collective::all_reduce;
  double bytes = 0;  // bytes of its gradients
  SecondsByKind late{};
};

class StepLayers {
 public:
  /// `prices` must outlive this object. `zero` is the level of optimizer sharding, instead of that of the
  /// configuration.
  StepLayers(const StagePrices& prices, int64_t zero);

  const std::vector<StepLayer>& of_stage(int stage) const { return layers_[static_cast<size_t>(stage)]; }
  /// Whether a group computes nothing while it reduces the gradients of a micro-batch.
  bool waits_for_reductions() const { return waits_for_reductions_; }
  /// Returns the seconds per step of the messages that a group sends in every micro-batch while it computes: reductions
  /// of gradients from level 2 of optimizer sharding on, and gathers of parameters at level 3; 0 below.
  double sending(int group) const;
  /// Returns the seconds per step of those gathers that run along with a computation of the same section, so the
  /// reductions after it wait for them; 0 below level 3. These are all but one layer's, of which the simulated step
  /// takes the mean (`LayerTasks`).
  double gathering_within(int group) const;
  /// Returns the seconds per step in which a group reduces the gradients of micro-batches and computes nothing.
  double reducing(int group) const;

 private:
  StepLayer layer_of(const LayerOfStage& of, int group) const;
  template <class Seconds>
  double sum(int group, const Seconds& seconds) const;

  const StagePrices& prices_;
  const int64_t zero_;
  const bool waits_for_reductions_;
  std::vector<std::vector<StepLayer>> layers_;  // by stage
};

}  // namespace partita
