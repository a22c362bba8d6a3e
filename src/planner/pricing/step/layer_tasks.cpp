#include "planner/pricing/step/layer_tasks.h"

#include <algorithm>

#include "compiler/schedule/schedule.h"

namespace partita {
namespace {

LayerSpan::Kind kind_of(StageSection section) {
  return section == StageSection::forward    ? LayerSpan::forward
         : section == StageSection::backward ? LayerSpan::backward
                                             : LayerSpan::weight;
}

LayerTask transfer_of(const Slot& slot) {
  return {.span = {.kind = LayerSpan::transfer, .stage = slot.stage, .micro_batch = slot.micro_batch},
          .kind = Collective::send};
}

}  // namespace

LayerTasks::LayerTasks(const StagePrices& prices, int64_t zero)
    : prices_(prices),
      zero_(zero),
      all_micro_batches_(prices.costs().micro_batches()),
      micro_batches_(prices.shape().micro_batches),
      has_weight_(prices.stages() > 1 && prices.request().configuration.order == Order::zero_bubble),
      layers_(prices, zero),
      groups_(static_cast<size_t>(prices.request().configuration.pipeline)),
      sent_(slot_number(static_cast<int>(prices.stages()), StageSection::forward, 0)) {
  prefetch_parameters();
  for (const Slot& slot : prices_.sequence()) add_slot(slot);
  for (int group = 0; group < groups(); ++group) add_update(group);
}

double LayerTasks::seconds_of(StageSection section, const UnitCosts& costs) const {
  switch (section) {
    case StageSection::forward: return costs.forward.seconds();
    case StageSection::backward: return costs.backward.seconds() - (has_weight_ ? costs.backward_weights : 0);
    case StageSection::weight: return costs.backward_weights;
  }
  return 0;
}

/// Whether a section completes the gradients of weights.
bool LayerTasks::makes_gradients(StageSection section) const {
  return section == (has_weight_ ? StageSection::weight : StageSection::backward);
}

int LayerTasks::add(int group, TaskQueue queue, double seconds, LayerTask task) {
  tasks_.push_back(std::move(task));
  return graph_.add({.group = group, .queue = queue, .seconds = std::max(0.0, seconds)});
}

/// Adds the gathers of parameters that the update of the previous step made in parts; none if the software does not
/// prefetch parameters.
void LayerTasks::prefetch_parameters() {
  if (!software().prefetches_parameters) return;
  for (int s = 0; s < prices_.stages(); ++s) {
    double seconds = 0;
    for (const StepLayer& layer : layers_.of_stage(s)) seconds += layer.gather_updated;
    if (seconds <= 0) continue;
    group(s).gathers.push_back(add(prices_.group_of(s), TaskQueue::communicate, seconds,
                                   {.span = {.kind = LayerSpan::gather, .stage = s}, .kind = Collective::all_gather}));
  }
}

void LayerTasks::add_slot(const Slot& slot) {
  const std::vector<StepLayer>& layers = layers_.of_stage(slot.stage);
  if (slot.micro_batch + 1 == micro_batches_ && makes_gradients(slot.section)) {
    add_layers(slot);
  } else {
    Item whole{.span = {.kind = kind_of(slot.section), .stage = slot.stage, .micro_batch = slot.micro_batch}};
    double reduce = 0;
    for (const StepLayer& layer : layers) {
      whole.seconds += seconds_of(slot.section, costs_of(layer.of));
      whole.gather += slot.section != StageSection::weight ? layer.gather : 0;
      reduce += layer.reduce;
    }
    whole.first_gather = whole.gather / static_cast<double>(std::max<size_t>(1, layers.size()));
    whole.gather -= whole.first_gather;
    add_item(whole, true, slot);
    if (zero_ >= 2 && makes_gradients(slot.section)) add_gradients(slot, layers.back().reduction, reduce, {});
  }
  add_transfer(slot);
}

/// Adds a task per layer, the last layer first. Gradients are reduced as soon as a bucket is full, and those left over
/// after the stage's first layer.
void LayerTasks::add_layers(const Slot& slot) {
  const std::vector<StepLayer>& layers = layers_.of_stage(slot.stage);
  double bytes = 0, seconds = 0;
  for (size_t l = layers.size(); l-- > 0;) {
    Item item{.span = {.kind = kind_of(slot.section),
                       .stage = slot.stage,
                       .layer = layers[l].of,
                       .micro_batch = slot.micro_batch},
              .seconds = seconds_of(slot.section, costs_of(layers[l].of)),
              .first_gather = slot.section != StageSection::weight ? layers[l].gather : 0};
    add_item(item, l + 1 == layers.size(), slot);
    bytes += layers[l].bytes;
    seconds += layers[l].reduce;
    for (const auto& [kind, late] : layers[l].late) add_reduction(slot, kind, late, layers[l].of);
    if (bytes < static_cast<double>(kBucketBytes) && l > 0) continue;
    add_gradients(slot, layers[l].reduction, seconds, layers[l].of);
    bytes = seconds = 0;
  }
}

/// Adds a computation. It waits for the gather of its first layer's parameters, which runs along with the previous
/// computation, and, with `begins_slot`, for the transfer that `slot` receives. The gathers of the other layers run
/// along with the computation itself. The next one waits for them and, if `slot` is of the first micro-batch, for those
/// of `prefetch_parameters` that have not been awaited.
///
/// A queue runs in the order of `add`, so a message holds up all later ones until it can begin. A gather therefore
/// comes before messages that wait for a later moment than it does: that of the next computation before the reductions
/// of this one. A training starts its messages in this order, too (compiler/schedule/overlap_collectives.h).
void LayerTasks::add_item(const Item& item, bool begins_slot, const Slot& slot) {
  const int number = prices_.group_of(item.span.stage);
  Group& own = group(item.span.stage);
  const int first = add_gather(item, item.first_gather, own.last);
  add_pending_reductions(number);
  own.last = {.before = own.computed, .received = begins_slot ? receive(slot) : -1};
  const int others = add_gather(item, item.gather, own.last);
  const int task = own.computed = add(number, TaskQueue::compute, item.seconds, {.span = item.span});
  if (first >= 0) graph_.need(task, first);
  if (own.last.received >= 0) graph_.need(task, own.last.received);
  std::vector<int> gathers = slot.micro_batch == 0 ? std::exchange(own.gathers, {}) : std::vector<int>{};
  if (others >= 0) gathers.push_back(others);
  if (!gathers.empty()) add_join(item, gathers);
  own.last.made = own.computed;
}

/// Adds a gather that runs along with a computation: it begins no sooner than that can begin. Returns -1 if it takes no
/// time.
int LayerTasks::add_gather(const Item& item, double seconds, const Computation& along) {
  if (seconds <= 0) return -1;
  LayerTask gather{.span = item.span, .kind = Collective::all_gather};
  gather.span.kind = LayerSpan::gather;
  const int task = add(prices_.group_of(item.span.stage), TaskQueue::communicate, seconds, std::move(gather));
  for (const int earlier : {along.before, along.received}) {
    if (earlier >= 0) graph_.need(task, earlier);
  }
  return task;
}

void LayerTasks::add_join(const Item& item, const std::vector<int>& gathers) {
  const int join = add(prices_.group_of(item.span.stage), TaskQueue::compute, 0,
                       {.span = item.span, .kind = Collective::all_gather, .is_join = true});
  for (const int gather : gathers) graph_.need(join, gather);
  group(item.span.stage).computed = join;
}

/// Adds the reduction of the last computation's gradients among the ranks that share the batch.
void LayerTasks::add_gradients(const Slot& slot, Collective kind, double seconds, std::optional<LayerOfStage> layer) {
  if (!layers_.waits_for_reductions()) return add_reduction(slot, kind, seconds, layer);
  if (seconds <= 0) return;
  group(slot.stage).computed =
      add(prices_.group_of(slot.stage), TaskQueue::compute, seconds,
          {.span = {.kind = LayerSpan::reduce, .stage = slot.stage, .layer = layer, .micro_batch = slot.micro_batch},
           .kind = kind});
}

/// Adds a reduction that runs along with later computations, or after the backward pass if the software reduces then.
void LayerTasks::add_reduction(const Slot& slot, Collective kind, double seconds, std::optional<LayerOfStage> layer) {
  if (seconds <= 0) return;
  const int number = prices_.group_of(slot.stage);
  LayerTask reduction{
      .span = {.kind = LayerSpan::reduce, .stage = slot.stage, .layer = layer, .micro_batch = slot.micro_batch},
      .kind = kind};
  if (software().reduces_after_backward && slot.micro_batch + 1 == micro_batches_) {
    late_reductions_.push_back({number, seconds, std::move(reduction)});
    return;
  }
  Group& own = group(slot.stage);
  own.pending.push_back({own.last.made, seconds, std::move(reduction)});
}

void LayerTasks::add_pending_reductions(int number) {
  Group& own = groups_[static_cast<size_t>(number)];
  for (PendingReduction& one : own.pending) {
    own.reductions.push_back(add(number, TaskQueue::communicate, one.seconds, std::move(one.task)));
    graph_.need(own.reductions.back(), one.after);
  }
  own.pending.clear();
}

void LayerTasks::add_transfer(const Slot& slot) {
  if (slot.section == StageSection::weight) return;
  const int to = slot.stage + (slot.section == StageSection::forward ? 1 : -1);
  if (to < 0 || to >= prices_.stages()) return;
  const double seconds = prices_.seconds().transfer(std::max(to, slot.stage));
  Sent& sent = sent_[slot_number(to, slot.section, slot.micro_batch)];
  sent = {group(slot.stage).last.made, seconds};
  if (software().waits_for_transfers) return;
  const int task = add(prices_.group_of(slot.stage), TaskQueue::transfer, seconds, transfer_of(slot));
  graph_.need(task, sent.task);
  sent = {task};
}

/// Returns the task that a slot waits for, -1 if it receives nothing: the transfer of its values, or the computation
/// that makes them if the transfer takes no time. Adds the transfer to the computations of the receiver if the software
/// waits for transfers.
int LayerTasks::receive(const Slot& slot) {
  const Sent& sent = sent_[slot_number(slot.stage, slot.section, slot.micro_batch)];
  if (sent.task < 0 || sent.seconds == 0) return sent.task;
  const int task = add(prices_.group_of(slot.stage), TaskQueue::compute, sent.seconds, transfer_of(slot));
  graph_.need(task, sent.task);
  return task;
}

void LayerTasks::add_update(int number) {
  Group& own = groups_[static_cast<size_t>(number)];
  add_pending_reductions(number);
  for (const LateReduction& one : late_reductions_) {
    if (one.group != number) continue;
    own.reductions.push_back(add(number, TaskQueue::communicate, one.seconds, one.task));
    graph_.need(own.reductions.back(), own.computed);
  }
  const UnitCosts& costs = prices_.costs().group(number);
  const int update = add(number, TaskQueue::compute, prices_.seconds().update(costs, zero_),
                         {.span = {.kind = LayerSpan::update, .stage = number}});
  for (const int reduction : own.reductions) graph_.need(update, reduction);
  own.computed = update;
  double seconds = 0;
  for (int s = number; s < prices_.stages(); s += groups()) {
    for (const StepLayer& layer : layers_.of_stage(s)) seconds += layer.gather_updated;
  }
  if (seconds <= 0 || software().prefetches_parameters) return;
  const Item item{.span = {.kind = LayerSpan::gather, .stage = number}};
  const int gather = add(number, TaskQueue::communicate, seconds, {.span = item.span, .kind = Collective::all_gather});
  graph_.need(gather, update);
  add_join(item, {gather});
}

}  // namespace partita
