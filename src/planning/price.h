#pragma once
// Seconds and bytes of one training step under a configuration, and where they go.

#include <functional>
#include <optional>

#include "cluster/place.h"
#include "planning/kept_micro_batches.h"
#include "planning/known_orders.h"
#include "planning/places.h"
#include "planning/stage_layers.h"
#include "planning/unit_costs.h"

namespace partita {

/// What makes up a step of the slowest rank; the parts add up to the step.
struct Breakdown {
  double compute = 0;             // seconds in kernels
  double waiting = 0;             // for the host to issue kernels
  SecondsByKind communication{};  // seconds in which nothing else runs
  double bubble = 0;              // in which the ranks of a stage wait for another stage
  double update = 0;              // of parameters, and what the software adds to a step
};

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

struct PriceRequest {
  const FoldedGraph& folded;
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

/// The stages of a configuration and what they cost, before a step of them is followed. Stages are contiguous units;
/// the configuration says how they are dealt out.
class StagePrices {
 public:
  /// Throws InvalidArgument for more stages than layers. What the request refers to outlives this.
  explicit StagePrices(PriceRequest request);
  StagePrices(const StagePrices&) = delete;  // it refers to its own request

  const PriceRequest& request() const { return request_; }
  int64_t stages() const;
  int group_of(int64_t stage) const;
  std::vector<StageLayers> layers() const;  // by stage
  bool has_layers_of(const StagePrices& other) const { return layers_ == other.layers_; }
  /// Seconds of a micro-batch on the slowest stage, without transfers, and of all stages on average.
  double slowest_stage() const;
  double average_stage() const;
  /// No step of these stages takes less time. A group runs all of its sections, the first behind the forward of the
  /// stages in front and the last in front of their backward; what it sends beside them slows it down, and what is left
  /// of the last gradients comes behind. For `zero` in the place of the configuration's level.
  double lower_bound(int64_t zero);
  /// Bytes of the largest group, or less, without making the order.
  double least_memory(int64_t zero);
  /// Of each group. The order is made once, whatever the levels that are asked for.
  std::vector<StageMemory> memory(int64_t zero);
  /// Of that, what layers take of which the network has one alone, without workspace.
  std::vector<StageMemory> single_layers(int64_t zero);
  /// How many layers of each group are to be recomputed that a step fits into some bytes: those that add the least time
  /// to the group. Of stages that are not recomputed; none when recomputing all of them is not enough.
  std::optional<RecomputedLayers> least_recomputation(int64_t zero, double memory);
  /// What the order is made for: sections of stages with their seconds, transfers included, and the micro-batches that
  /// are followed, of which the others are repetitions.
  const PipelineShape& shape() const { return shape_; }
  /// The order of these, of a single stage as well.
  const Sequence& sequence();
  /// Bytes that a micro-batch keeps on a stage from its forward to its last section.
  double kept(int64_t stage) const { return stages_[stage].kept + (stages() > 1 ? stages_[stage].boundary : 0); }

 private:
  friend class LayerTasks;  // what the same stages take layer by layer
  friend class StepSimulation;
  friend class RecomputationFit;
  /// Seconds in which a group sends to the ranks that share the batch, each layer by itself.
  struct Messages {
    double beside = 0;  // in all of a step, beside what is computed
    double last = 0;    // of these, of gradients that come of its last section
    double first = 0;   // of these, of parameters for the first forward
    double ahead = 0;   // of what the update made in parts, beside the first forward
    double behind = 0;  // the same, and gradients where the software reduces them so, when all is computed
  };
  /// When a group has run its last section, and when its update is done, at the soonest; how long that takes.
  struct Ends {
    double computed = 0, updated = 0, update = 0;
  };

  /// A number of each level of optimizer sharding, once it was asked for.
  using ByLevel = std::array<std::optional<double>, kMostZero + 1>;

  const LayerCosts& costs(Recompute policy) const;
  void deal();
  void choose_recomputed_layers();
  void weigh();
  UnitCosts costs_of(const StageLayers& layers) const;
  double transfer_seconds(int64_t stage);
  const std::vector<KeptMicroBatches>& in_flight();
  double least_in_flight(int64_t group) const;
  const UnitCosts& group_costs(int64_t group) const { return groups_[static_cast<size_t>(group)]; }
  UnitCosts single_costs(int64_t stage) const;
  double computed_seconds(int64_t group) const;
  double transfer_seconds_of(int64_t group) const;
  double repeated_seconds(int64_t group) const;
  Messages messages(int64_t group, int64_t zero) const;
  Ends soonest(int64_t group, int64_t zero, double before) const;
  double find_lower_bound(int64_t zero) const;
  double find_least_memory(int64_t zero) const;
  const std::vector<StageLayers>& layers_of(int64_t group) const { return layers_[static_cast<size_t>(group)]; }
  const StageLayers& layers_of_stage(int64_t stage) const {
    return layers_of(group_of(stage))[static_cast<size_t>(stage / configuration_.pipeline)];
  }
  double kept_by(const StageLayers& layers) const;
  const std::vector<int64_t>& fullest_moment(int64_t group, const std::vector<double>& kept);
  double most_in_flight(int64_t group, const std::vector<StageLayers>& layers);
  double most_in_backward(const StageLayers& layers, const std::function<double(double)>& bytes_of_gradients) const;
  double workspace(const std::vector<StageLayers>& layers) const;
  double whole_layers(const std::vector<StageLayers>& layers, int64_t zero) const;
  StageMemory memory(int64_t group, int64_t zero, double in_flight) const;
  double gradient_bytes(double elements, int64_t zero, const StageMemory& beside, const StageLayers& layers) const;
  StageMemory memory(int64_t group, int64_t zero, double in_flight, const std::vector<StageLayers>& layers) const;
  /// Of what a layer sends to the ranks that share the batch, besides what is late of it. Groups that lie alike take as
  /// long, and those of a level are found once.
  const SecondsByKind& gradient_seconds(size_t unit, int64_t group, int64_t zero) const;
  double gradient_bytes(double elements, int64_t zero, const StageMemory& beside) const;
  double update_kernels(const UnitCosts& costs, int64_t zero) const;

  const PriceRequest request_;
  const Configuration& configuration_;
  const int64_t micro_batches_;
  const Places::Ranks ranks_;                                                // of a group of stages
  mutable std::array<const LayerCosts*, kNames<Recompute>.size()> costs_{};  // those that were needed
  std::vector<std::vector<StageLayers>> layers_;                             // of the stages of each group
  std::vector<UnitCosts> stages_, groups_;
  std::vector<double> seconds_;    // per stage: of a micro-batch, without transfers
  std::vector<double> handed_;     // per stage: bytes that it keeps and that only the next one reads
  std::vector<double> transfers_;  // per stage: seconds of what it sends and gets, for a micro-batch
  std::map<std::tuple<int, int, double>, double> known_transfers_;  // by groups and bytes
  PipelineShape shape_;
  std::vector<const GroupPlace*> batch_places_;  // per group: of the ranks that share parameters, if several
  mutable std::map<std::tuple<const GroupPlace*, size_t, int64_t>, SecondsByKind> gradient_seconds_;
  ByLevel lower_bounds_{}, least_memory_{};
  const Sequence* sequence_ = nullptr;  // once it was asked for
};

}  // namespace partita
