#pragma once
// Bytes that a step of a configuration takes.

#include <array>
#include <functional>
#include <optional>
#include <vector>

#include "planner/pricing/stage_costs.h"
#include "planner/pricing/stage_seconds.h"

namespace partita {

/// Bytes of the largest rank of a stage.
struct StageMemory {
  double parameters = 0, gradients = 0, optimizer = 0;  // optimizer: states and the masters
  double activations = 0;                               // of all micro-batches in flight
  double workspace = 0;
  double total() const { return parameters + gradients + optimizer + activations + workspace; }
  void add(const StageMemory& other);
};

/// Bytes of the group that takes most.
double peak_of(const std::vector<StageMemory>& memory);

/// The memory of the groups of stages, for `zero` in the place of the configuration's level.
class StepMemory {
 public:
  /// Both outlive this. The order of `seconds` is made when it is needed.
  StepMemory(const StageCosts& stages, const StageSeconds& seconds) : stages_(stages), seconds_(seconds) {}

  /// Bytes of the largest group, or less, without making the order.
  double least(int64_t zero);
  /// Of each group. The order is made once, whatever the levels that are asked for.
  std::vector<StageMemory> of_groups(int64_t zero) const;
  /// Of that, what layers take of which the network has one alone, without workspace.
  std::vector<StageMemory> single_layers(int64_t zero) const;
  /// Of a group, with `in_flight` bytes of activations.
  StageMemory of_group(int64_t group, int64_t zero, double in_flight) const;
  /// Of a group with such layers on its stages, with what is in flight of them.
  StageMemory of_group(int64_t group, int64_t zero, const std::vector<StageLayers>& layers) const;

 private:
  StageMemory of_group(int64_t group, int64_t zero, double in_flight, const std::vector<StageLayers>& layers) const;
  double find_least(int64_t zero) const;
  const std::vector<KeptMicroBatches>& kept_micro_batches() const;
  double least_in_flight(int64_t group) const;
  const std::vector<int64_t>& fullest_moment(int64_t group, const std::vector<double>& kept) const;
  double most_in_flight(int64_t group, const std::vector<StageLayers>& layers) const;
  double most_in_backward(const StageLayers& layers, const std::function<double(double)>& bytes_of_gradients) const;
  double workspace(const std::vector<StageLayers>& layers) const;
  double whole_layers(const std::vector<StageLayers>& layers, int64_t zero) const;
  double gradient_bytes(double elements, int64_t zero, const StageMemory& beside, const StageLayers& layers) const;
  const Configuration& configuration() const { return stages_.configuration(); }

  const StageCosts& stages_;
  const StageSeconds& seconds_;
  std::array<std::optional<double>, kMaxZero + 1> least_{};  // by level, once it was asked for
};

}  // namespace partita
