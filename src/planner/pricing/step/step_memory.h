#pragma once
// The memory of a step of a configuration.

#include <array>
#include <functional>
#include <optional>
#include <vector>

#include "planner/pricing/step/stage_costs.h"
#include "planner/pricing/step/stage_seconds.h"

namespace partita {

/// Bytes on the largest rank of a stage or of a group of stages.
struct StageMemory {
  double parameters = 0, gradients = 0, optimizer = 0;  // optimizer: its states and the master copies
  double activations = 0;                               // activations of all micro-batches in flight
  double workspace = 0;
  double total() const { return parameters + gradients + optimizer + activations + workspace; }
  void add(const StageMemory& other);
};

/// Bytes of the group that takes most.
double peak_of(const std::vector<StageMemory>& memory);

/// The memory of groups of stages. `zero` is the level of optimizer sharding, instead of that of the configuration.
class StepMemory {
 public:
  /// Both arguments must outlive this object. The order of the pipeline is made only when it is needed.
  StepMemory(const StageCosts& stages, const StageSeconds& seconds) : stages_(stages), seconds_(seconds) {}

  /// A lower bound of the bytes of the largest group of stages. It is cheaper than `of_groups`, since it does not make
  /// the order of the pipeline.
  double least(int64_t zero);
  /// Returns the memory of each group. The first call makes the order of the pipeline, which serves all levels. Throws
  /// InvalidArgument if the order has more than kMaxStageMicroBatches stages times micro-batches.
  std::vector<StageMemory> of_groups(int64_t zero) const;
  /// Returns the part of each group's memory that unrepeated layers take, without workspace. Throws as `of_groups`
  /// does.
  std::vector<StageMemory> single_layers(int64_t zero) const;
  /// The memory of a group with `in_flight` bytes of activations.
  StageMemory of_group(int64_t group, int64_t zero, double in_flight) const;
  /// Returns the memory of a group if its stages had `layers`, one entry per stage in ascending order, with the
  /// activations that the order of the pipeline keeps of these layers. Throws InvalidArgument if nothing can be
  /// recomputed by a policy of `layers`, and as `of_groups` does.
  StageMemory of_group(int64_t group, int64_t zero, const std::vector<StageLayers>& layers) const;

 private:
  StageMemory of_group(int64_t group, int64_t zero, double in_flight, const std::vector<StageLayers>& layers) const;
  double find_least(int64_t zero) const;
  const std::vector<KeptMicroBatches>& kept_micro_batches() const;
  double min_in_flight(int64_t group) const;
  const std::vector<int64_t>& fullest_moment(int64_t group, const std::vector<double>& kept) const;
  double max_in_flight(int64_t group, const std::vector<StageLayers>& layers) const;
  double max_in_backward(const StageLayers& layers, const std::function<double(double)>& bytes_of_gradients) const;
  double workspace(const std::vector<StageLayers>& layers) const;
  double whole_layers(const std::vector<StageLayers>& layers, int64_t zero) const;
  StageMemory states_of(const UnitCosts& own, int64_t zero) const;
  double gradient_bytes(const UnitCosts& own, int64_t zero, const StageMemory& other, const StageLayers& layers) const;
  const Configuration& configuration() const { return stages_.configuration(); }

  const StageCosts& stages_;
  const StageSeconds& seconds_;
  std::array<std::optional<double>, kMaxZero + 1> min_{};  // by level; none: not computed yet
};

}  // namespace partita
