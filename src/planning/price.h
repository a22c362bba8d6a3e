#pragma once
// Seconds and bytes of one training step under a configuration, and where they go.

#include <optional>

#include "cluster/place.h"
#include "planning/configuration.h"
#include "planning/places.h"
#include "planning/unit_costs.h"

namespace partita {

/// What makes up a step of the slowest rank; the parts add up to the step.
struct Breakdown {
  double compute = 0;                            // seconds in kernels
  double waiting = 0;                            // for the host to issue kernels
  std::map<Collective, double> communication{};  // seconds in which nothing else runs
  double bubble = 0;                             // in which the ranks of a stage wait for another stage
  double update = 0;                             // of parameters, and what the software adds to a step
};

/// Bytes of the largest rank of a stage.
struct StageMemory {
  double parameters = 0, gradients = 0, optimizer = 0;  // optimizer: states and the masters
  double activations = 0;                               // of all micro-batches in flight
  double workspace = 0;
  double total() const { return parameters + gradients + optimizer + activations + workspace; }
};

struct Price {
  double step_seconds = 0;
  double tflops_per_device = 0;  // 1e12 floating-point operations of the network, without what is recomputed
  Breakdown breakdown;
  std::vector<StageMemory> memory;            // by group of stages
  std::vector<std::vector<size_t>> layers{};  // per stage: how many of each unit's copies it has

  double peak_memory() const;
};

struct PriceRequest {
  const FoldedGraph& folded;
  const LayerCosts& costs;
  Configuration configuration;  // completed
  int64_t batch = 1;            // rows of the global batch
  double step_flops = 0;        // floating-point operations of the network in a step, on all ranks together
  const Cluster& cluster;
  Places& places;  // of that cluster
  Precision precision;
};

/// The stages of a configuration and what they cost, before their order is followed. Stages are contiguous units;
/// copies of a repeated layer are dealt out evenly where they divide, otherwise so that the slowest stage takes the
/// least time.
class StagePrices {
 public:
  /// Throws InvalidArgument for more stages than layers. What the request refers to outlives this.
  explicit StagePrices(PriceRequest request);
  StagePrices(const StagePrices&) = delete;  // it refers to its own request

  /// No order of these stages takes less time: the busiest group runs all of its sections, the first behind the forward
  /// of the stages in front and the last in front of their backward; then the update. For `zero` in the place of the
  /// configuration's level.
  double lower_bound(int64_t zero) const;
  /// Bytes of a group when no more than one micro-batch is in flight, of the largest.
  double least_memory(int64_t zero) const;
  /// What the order is made for: sections of stages with their seconds, transfers included.
  const PipelineShape& shape() const { return shape_; }
  /// Bytes that a micro-batch keeps on a stage from its forward to its last section.
  double kept(int64_t stage) const { return stages_[stage].kept + (stages() > 1 ? stages_[stage].boundary : 0); }
  /// The order is followed once, whatever the levels that are asked for.
  Price price(int64_t zero);

 private:
  friend class LayerTasks;  // what the same stages take layer by layer
  friend class StepSimulation;
  struct Loop {
    double seconds = 0;             // of all micro-batches
    std::vector<double> in_flight;  // bytes by group, the most at once
  };
  struct Update {
    double seconds = 0, kernels = 0;  // what is exposed of it, and the update alone
    std::map<Collective, double> exposed{};
  };

  int64_t stages() const;
  int group_of(int64_t stage) const;
  void deal();
  double transfer_seconds(int64_t stage);
  const Loop& loop();
  std::vector<double> bytes_in_flight(const std::vector<Slot>& sequence) const;
  UnitCosts group_costs(int64_t group) const;
  double busy_seconds(int64_t group) const;
  Breakdown breakdown(int64_t busiest, double loop_seconds) const;
  StageMemory memory(int64_t group, int64_t zero, double in_flight) const;
  Update update(int64_t zero) const;
  std::map<Collective, double> gradient_seconds(const UnitCosts& costs, int64_t group, int64_t zero) const;
  double update_kernels(const UnitCosts& costs, int64_t zero) const;

  const PriceRequest request_;
  const Configuration& configuration_;
  const int64_t micro_batches_;
  const Places::Ranks ranks_;  // of a group of stages
  std::vector<std::vector<size_t>> layers_;
  std::vector<UnitCosts> stages_;
  std::vector<double> transfers_;  // per stage: seconds of what it sends and gets, for a micro-batch
  std::map<std::tuple<int, int, double>, double> known_transfers_;  // by groups and bytes
  PipelineShape shape_;
  std::optional<Loop> loop_;
};

}  // namespace partita
