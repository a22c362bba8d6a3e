#pragma once
// Time and memory of one training step under a configuration, and their breakdown.

#include <optional>
#include <vector>

#include "planner/pricing/step/stage_costs.h"
#include "planner/pricing/step/stage_seconds.h"
#include "planner/pricing/step/step_bound.h"
#include "planner/pricing/step/step_memory.h"

namespace partita {

/// Breakdown of a step in seconds, for the group of ranks that waits least for others. The parts add up to the step.
struct Breakdown {
  double compute = 0;             // kernels
  double waiting = 0;             // waiting for the host to issue kernels
  SecondsByKind communication{};  // exposed communication
  double bubble = 0;              // waiting for another stage
  double update = 0;              // update of parameters, and the overhead of the software per step
};

struct Price {
  double step_seconds = 0;
  double tflops_per_device = 0;  // 1e12 floating-point operations per second, without recomputation
  Breakdown breakdown;
  std::vector<StageMemory> memory;  // by group of stages
  /// The part of `memory` that unrepeated layers take, such as embeddings and heads; empty if it is not known.
  std::vector<StageMemory> single_layers{};
  std::vector<StageLayers> layers{};  // by stage

  /// Bytes of the group that takes most.
  double peak_memory() const { return peak_of(memory); }
};

/// The stages of a configuration with their costs, without simulating a step.
class StagePrices {
 public:
  /// References in the request must outlive this object. Throws InvalidArgument for more stages than layers, more
  /// recomputed layers than a group has, or more ranks than the cluster has, and what `request.costs` throws.
  explicit StagePrices(PriceRequest request);
  StagePrices(const StagePrices&) = delete;  // parts of it refer to others

  const StageCosts& costs() const { return costs_; }
  const StageSeconds& seconds() const { return seconds_; }
  const StepMemory& memory() const { return memory_; }

  const PriceRequest& request() const { return costs_.request(); }
  int64_t stages() const { return costs_.stages(); }
  int group_of(int64_t stage) const { return costs_.group_of(stage); }
  std::vector<StageLayers> layers() const;  // by stage
  /// Returns a lower bound of the seconds of a step at level `zero` of optimizer sharding (StepBound).
  double lower_bound(int64_t zero) { return bound_.seconds(zero); }
  /// Returns a lower bound of the bytes of the largest group of stages at level `zero` of optimizer sharding. It is
  /// cheaper than `memory`, since it does not make the order.
  double min_memory(int64_t zero) { return memory_.least(zero); }
  /// Returns the memory of each group of stages at level `zero` of optimizer sharding. The first call makes the order
  /// of the pipeline, which serves all levels. Throws InvalidArgument if the order has more than kMaxStageMicroBatches
  /// stages times micro-batches.
  std::vector<StageMemory> memory(int64_t zero) const { return memory_.of_groups(zero); }
  /// Returns how many layers of each group to recompute, by policy, so that a step at level `zero` fits in `memory`
  /// bytes; the choice adds the least time to the group. The result is the policy full if that is all layers of all
  /// groups. The configuration must not recompute anything. None if recomputing all layers is not enough. Throws as
  /// `memory(zero)` does.
  std::optional<RecomputedLayers> min_recomputation(int64_t zero, double memory) const;
  const PipelineShape& shape() const { return seconds_.shape(); }
  const Sequence& sequence() const { return seconds_.sequence(); }

 private:
  const StageCosts costs_;
  const StageSeconds seconds_;
  StepMemory memory_;
  StepBound bound_;
};

}  // namespace partita
