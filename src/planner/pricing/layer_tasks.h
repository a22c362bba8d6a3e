#pragma once
// The tasks of a step of a configuration.

#include "planner/pricing/simulate_step.h"
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
  /// Returns the seconds per step of the messages that a group sends in every micro-batch: reductions of gradients from
  /// level 2 of optimizer sharding on, and gathers of parameters at level 3; 0 below.
  double sending(int group) const;
  /// Whether the gradients of weights are separate entries of the order.
  bool has_weight() const { return has_weight_; }
  const UnitCosts& costs_of(const LayerOfStage& layer) const {
    return prices_.costs().costs(layer.policy).units[layer.unit];
  }
  const SoftwareCosts& software() const { return prices_.request().cluster.software; }

 private:
  /// A layer of a stage, and the seconds of its messages among the ranks that share the batch.
  struct Layer {
    LayerOfStage of{};
    double gather = 0, reduce = 0;
    double gather_updated = 0;  // once per step, after the update or before the next step
    Collective reduction = Collective::all_reduce;
    double bytes = 0;  // bytes of its gradients
    SecondsByKind late{};
  };
  struct Group {
    std::vector<int> computed;  // tasks of the compute queue, in their order
    std::vector<int> reductions;
    std::vector<int> gathers;  // gathers of updated parameters that the first forward waits for
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
  void find_layers();
  Layer layer_of(const LayerOfStage& of, int group) const;
  double seconds_of(StageSection section, const UnitCosts& costs) const;
  bool makes_gradients(StageSection section) const;
  int add(int group, TaskQueue queue, double seconds, LayerTask task);
  void prefetch_parameters();
  void add_slot(const Slot& slot);
  void add_layers(const Slot& slot);
  void add_item(const Item& item, bool begins_slot, const Slot& slot);
  int add_gather(const Item& item, double seconds);
  void add_join(const Item& item, const std::vector<int>& gathers);
  void add_reduction(const Slot& slot, Collective kind, double seconds, std::optional<LayerOfStage> layer);
  void add_transfer(const Slot& slot);
  int receive(const Slot& slot);
  void add_update(int group);

  const StagePrices& prices_;
  const int64_t zero_;
  const int64_t all_micro_batches_, micro_batches_;
  bool has_weight_ = false;
  std::vector<std::vector<Layer>> layers_;  // by stage
  TaskGraph graph_;
  std::vector<LayerTask> tasks_;
  std::vector<Group> groups_;
  std::vector<LateReduction> late_reductions_;  // reductions that begin after the backward
  std::vector<Sent> sent_;                      // by slot_number of the receiver
};

}  // namespace partita
