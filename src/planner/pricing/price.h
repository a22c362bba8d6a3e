#pragma once
// Seconds and bytes of one training step under a configuration, and where they go.

#include <optional>
#include <utility>
#include <vector>

#include "planner/pricing/stage_costs.h"
#include "planner/pricing/stage_seconds.h"
#include "planner/pricing/step_bound.h"
#include "planner/pricing/step_memory.h"

namespace partita {

/// What makes up a step of the slowest rank; the parts add up to the step.
struct Breakdown {
  double compute = 0;             // seconds in kernels
  double waiting = 0;             // for the host to issue kernels
  SecondsByKind communication{};  // seconds in which nothing else runs
  double bubble = 0;              // in which the ranks of a stage wait for another stage
  double update = 0;              // of parameters, and what the software adds to a step
};

struct Price {
  double step_seconds = 0;
  double tflops_per_device = 0;  // 1e12 floating-point operations of the network, without what is recomputed
  Breakdown breakdown;
  std::vector<StageMemory> memory;  // by group of stages
  /// Of that, what layers take of which there is one alone, as embeddings and heads; none where that is not known.
  std::vector<StageMemory> single_layers{};
  std::vector<StageLayers> layers{};  // by stage

  double peak_memory() const { return peak_of(memory); }
};

/// The stages of a configuration and what they cost, before a step of them is followed: by parts, and what is asked of
/// them together.
class StagePrices {
 public:
  /// Throws InvalidArgument for more stages than layers. What the request refers to outlives this.
  explicit StagePrices(PriceRequest request);
  StagePrices(const StagePrices&) = delete;  // parts of it refer to others

  const StageCosts& costs() const { return costs_; }
  const StageSeconds& seconds() const { return seconds_; }
  const StepMemory& memory() const { return memory_; }

  const PriceRequest& request() const { return costs_.request(); }
  int64_t stages() const { return costs_.stages(); }
  int group_of(int64_t stage) const { return costs_.group_of(stage); }
  std::vector<StageLayers> layers() const;  // by stage
  bool has_layers_of(const StagePrices& other) const { return costs_.has_layers_of(other.costs_); }
  double slowest_stage() const { return seconds_.slowest(); }
  double average_stage() const { return seconds_.average(); }
  /// No step of these stages takes less time (StepBound).
  double lower_bound(int64_t zero) { return bound_.seconds(zero); }
  /// Bytes of the largest group, or less, without making the order.
  double least_memory(int64_t zero) { return memory_.least(zero); }
  /// Of each group. The order is made once, whatever the levels that are asked for.
  std::vector<StageMemory> memory(int64_t zero) const { return memory_.of_groups(zero); }
  /// How many layers of each group are to be recomputed that a step fits into some bytes: those that add the least time
  /// to the group. Of stages that are not recomputed; none when recomputing all of them is not enough.
  std::optional<RecomputedLayers> least_recomputation(int64_t zero, double memory) const;
  const PipelineShape& shape() const { return seconds_.shape(); }
  const Sequence& sequence() const { return seconds_.sequence(); }

 private:
  const StageCosts costs_;
  const StageSeconds seconds_;
  StepMemory memory_;
  StepBound bound_;
};

}  // namespace partita
