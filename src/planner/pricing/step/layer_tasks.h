#pragma once
// The tasks of a step of a configuration.

#include "planner/pricing/step/step_layers.h"
#include "planner/simulation/engine.h"

namespace partita {

struct LayerTask {
  LayerSpan span;
  std::optional<Collective> kind{};  // kind of a message
  bool is_join = false;              // a task without duration that makes its successors wait for messages
};

/// The tasks of a step. Each entry of the order is one task, except in the last micro-batch: its section that makes
/// gradients of weights has a task per layer.
class LayerTasks {
 public:
  /// Builds the tasks. `prices` must outlive this object. `zero` is the level of optimizer sharding, instead of that of
  /// the configuration. Throws InvalidArgument if the order has more than kMaxStageMicroBatches stages times
  /// micro-batches.
  LayerTasks(const StagePrices& prices, int64_t zero);

  const TaskGraph& graph() const { return graph_; }
  const std::vector<LayerTask>& tasks() const { return tasks_; }  // in the order of the graph
  int groups() const { return static_cast<int>(prices_.request().configuration.pipeline); }
  /// Returns the share of the micro-batches that are not simulated, since they repeat others; 0 if all are simulated.
  double repeated() const { return 1 - static_cast<double>(micro_batches_) / static_cast<double>(all_micro_batches_); }
  const StepLayers& layers() const { return layers_; }
  /// Whether the gradients of weights are separate entries of the order.
  bool has_weight() const { return has_weight_; }
  const UnitCosts& costs_of(const LayerOfStage& layer) const {
    return prices_.costs().costs(layer.policy).units[layer.unit];
  }
  const SoftwareCosts& software() const { return prices_.request().cluster.software; }

 private:
  /// A computation of a group. -1: no task.
  struct Computation {
    int before = -1;    // previous task of the compute queue
    int received = -1;  // transfer that it waits for
    int made = -1;      // task after which its results are there
  };
  /// A reduction that is not in the queue yet.
  struct PendingReduction {
    int after = -1;  // task that completes the gradients
    double seconds = 0;
    LayerTask task;
  };
  struct Group {
    int computed = -1;                      // last task of the compute queue; -1: none
    Computation last;                       // last computation
    std::vector<PendingReduction> pending;  // reductions of the last computation
    std::vector<int> reductions;
    std::vector<int> gathers;  // gathers of updated parameters that the first forward pass waits for
  };
  /// An item of the compute queue of a group: an entry of the order, or one of its layers.
  struct Item {
    LayerSpan span;
    double seconds = 0;
    double first_gather = 0, gather = 0;  // seconds to gather the parameters of its first layer, and of the others
  };
  struct LateReduction {
    int group = 0;
    double seconds = 0;
    LayerTask task;
  };

  /// A transfer to another stage.
  struct Sent {
    int task = -1;       // task after which it has arrived, or can be received; -1: no transfer
    double seconds = 0;  // seconds that the receiver spends on it; 0: it has arrived
  };

  size_t slot_number(int stage, StageSection section, int64_t micro_batch) const {
    const int64_t sections = static_cast<int64_t>(stage) * kStageSections + static_cast<int>(section);
    return static_cast<size_t>(sections * micro_batches_ + micro_batch);
  }
  Group& group(int stage) { return groups_[static_cast<size_t>(prices_.group_of(stage))]; }
  double seconds_of(StageSection section, const UnitCosts& costs) const;
  bool makes_gradients(StageSection section) const;
  int add(int group, TaskQueue queue, double seconds, LayerTask task);
  void prefetch_parameters();
  void add_slot(const Slot& slot);
  void add_layers(const Slot& slot);
  void add_item(const Item& item, bool begins_slot, const Slot& slot);
  int add_gather(const Item& item, double seconds, const Computation& along);
  void add_join(const Item& item, const std::vector<int>& gathers);
  void add_gradients(const Slot& slot, Collective kind, double seconds, std::optional<LayerOfStage> layer);
  void add_reduction(const Slot& slot, Collective kind, double seconds, std::optional<LayerOfStage> layer);
  void add_pending_reductions(int group);
  void add_transfer(const Slot& slot);
  int receive(const Slot& slot);
  void add_update(int group);

  const StagePrices& prices_;
  const int64_t zero_;
  const int64_t all_micro_batches_, micro_batches_;
  bool has_weight_ = false;
  const StepLayers layers_;
  TaskGraph graph_;
  std::vector<LayerTask> tasks_;
  std::vector<Group> groups_;
  std::vector<LateReduction> late_reductions_;  // reductions that begin after the backward pass
  std::vector<Sent> sent_;                      // by slot_number of the receiver
};

}  // namespace partita
