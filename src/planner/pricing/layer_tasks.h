#pragma once
// The tasks of a step of a configuration, layer by layer.

#include "planner/pricing/simulate_step.h"
#include "planner/simulation/engine.h"

namespace partita {

struct LayerTask {
  LayerSpan span;
  std::optional<Collective> kind{};  // of a message
  bool is_join = false;              // takes no time: what comes behind it waits for messages
};

/// Those of the last micro-batch's backward are layers, others slots of the order.
class LayerTasks {
 public:
  /// `prices` outlives this.
  LayerTasks(const StagePrices& prices, int64_t zero);

  const TaskGraph& graph() const { return graph_; }
  const std::vector<LayerTask>& tasks() const { return tasks_; }  // those of the graph
  int groups() const { return static_cast<int>(prices_.request().configuration.pipeline); }
  /// Of the micro-batches, the part that is not followed, since it repeats others.
  double repeated() const { return 1 - static_cast<double>(micro_batches_) / static_cast<double>(all_micro_batches_); }
  /// Seconds in which a group sends gradients and gathers parameters of all micro-batches, where each does.
  double sending(int group) const;
  /// Whether the gradients of weights are slots of their own.
  bool has_weight() const { return has_weight_; }
  const UnitCosts& costs_of(const LayerOfStage& layer) const {
    return prices_.costs().costs(layer.policy).units[layer.unit];
  }
  const SoftwareCosts& software() const { return prices_.request().cluster.software; }

 private:
  /// Of a stage, a layer: which unit, and seconds of what it sends to the ranks that share the batch.
  struct Layer {
    LayerOfStage of{};
    double gather = 0, reduce = 0, ahead = 0;  // ahead: gathered once, behind the update or in front of the next step
    Collective reduction = Collective::all_reduce;
    double bytes = 0;  // of gradients
    SecondsByKind late{};
  };
  struct Group {
    std::vector<int> computed;  // tasks of the compute queue, in their order
    std::vector<int> reductions;
    std::vector<int> gathers;  // of what the update left, that the first forward waits for
  };
  /// What stands behind one another on the compute queue of a group: a slot, or a layer of one.
  struct Item {
    LayerSpan span;
    double seconds = 0;
    double first_gather = 0, gather = 0;  // of the parameters of its first layer, and of the others
  };
  struct Behind {
    int group = 0;
    double seconds = 0;
    LayerTask task;
  };

  /// To another stage: the task behind which it has come, or on which the receiver begins to spend its seconds.
  struct Sent {
    int task = -1;  // -1: nothing
    double seconds = 0;
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
  void gather_ahead();
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
  std::vector<Behind> behind_;  // reductions that begin when the backward is done
  std::vector<Sent> sent_;      // to each slot, by slot_number
};

}  // namespace partita
