#include "planning/simulate_step.h"

#include <algorithm>
#include <numeric>

#include "simulate/engine.h"

namespace partita {
namespace {

constexpr double kMessageBytes = 4 << 20;  // of gradients that are reduced together
constexpr int64_t kRounds = 4;             // of as many micro-batches as groups that are followed

}  // namespace

/// What stands behind one another on the compute queue of a group: a slot, or a layer of one.
struct StepItem {
  LayerSpan::Kind kind = LayerSpan::forward;
  int stage = 0;
  std::optional<size_t> unit{};
  int64_t micro_batch = 0;
  double seconds = 0;
  double first_gather = 0, gather = 0;  // of the parameters of its first layer, and of the others
};

class StepSimulation {
 public:
  StepSimulation(StagePrices& prices, int64_t zero)
      : prices_(prices),
        zero_(zero),
        all_micro_batches_(prices.micro_batches_),
        micro_batches_(followed(prices.micro_batches_, groups())) {}

  LayerStep run(const LayerStepOptions& options) {
    groups_.resize(static_cast<size_t>(groups()));
    find_layers();
    gather_ahead();
    for (const Slot& slot : sequence()) add_slot(slot);
    for (int group = 0; group < groups(); ++group) add_update(group);
    times_ = partita::run(graph_, {.overlap_slowdown = software().overlap_slowdown});
    return result(options);
  }

 private:
  /// Of a stage, a layer: which unit, and seconds of what it sends to the ranks that share the batch.
  struct Layer {
    size_t unit = 0;
    double gather = 0, reduce = 0, ahead = 0;  // ahead: gathered once, behind the update or in front of the next step
    Collective reduction = Collective::all_reduce;
    double bytes = 0;  // of gradients
    std::map<Collective, double> late{};
  };
  struct Group {
    std::vector<int> computed;  // tasks of the compute queue, in their order
    std::vector<int> reductions;
    std::vector<int> gathers;  // of what the update left, that the first forward waits for
  };
  struct TaskInfo {
    LayerSpan span;
    std::optional<Collective> kind{};  // of a message
    bool is_join = false;
  };

  static int64_t followed(int64_t micro_batches, int64_t groups) {
    const int64_t most = kRounds * groups;
    return micro_batches <= most ? micro_batches : most + micro_batches % groups;
  }
  int groups() const { return static_cast<int>(prices_.configuration_.pipeline); }
  const SoftwareCosts& software() const { return prices_.request_.cluster.software; }
  const UnitCosts& unit(size_t u) const { return prices_.request_.costs.units[u]; }
  Group& group(int stage) { return groups_[static_cast<size_t>(prices_.group_of(stage))]; }

  void find_layers() {
    const auto rounds = static_cast<double>(all_micro_batches_);
    for (int s = 0; s < prices_.stages(); ++s) {
      std::vector<Layer>& layers = layers_.emplace_back();
      const std::vector<size_t>& counts = prices_.layers_[static_cast<size_t>(s)];
      for (size_t u = 0; u < counts.size(); ++u) {
        if (counts[u] == 0) continue;
        UnitCosts costs = unit(u);
        Layer layer{.unit = u, .late = std::exchange(costs.late, {})};
        layer.bytes = costs.parameters * prices_.request_.precision.gradient;
        for (const auto& [kind, seconds] : prices_.gradient_seconds(costs, prices_.group_of(s), zero_)) {
          if (kind != Collective::all_gather) {
            layer.reduction = kind;
            layer.reduce = zero_ >= 2 ? seconds / rounds : seconds;
          } else if (zero_ == 3) {
            layer.gather = seconds / (2 * rounds);
          } else {
            layer.ahead = seconds;
          }
        }
        layers.insert(layers.end(), counts[u], layer);
      }
    }
  }

  Sequence sequence() {
    PipelineShape shape = prices_.shape();
    shape.micro_batches = micro_batches_;
    has_weight_ = prices_.stages() > 1 && prices_.configuration_.order == Order::zero_bubble;
    if (prices_.stages() > 1) {
      return make_sequence(prices_.configuration_.order, shape, chain_of(static_cast<int>(prices_.stages())));
    }
    Sequence sequence;
    for (int64_t m = 0; m < micro_batches_; ++m) {
      sequence.push_back({0, StageSection::forward, m});
      sequence.push_back({0, StageSection::backward, m});
    }
    return sequence;
  }

  double seconds_of(StageSection section, const UnitCosts& costs) const {
    switch (section) {
      case StageSection::forward: return costs.forward.seconds();
      case StageSection::backward: return costs.backward.seconds() - (has_weight_ ? costs.backward_weights : 0);
      case StageSection::weight: return costs.backward_weights;
    }
    return 0;
  }
  /// Whether the gradients of weights are there behind a section.
  bool makes_gradients(StageSection section) const {
    return section == (has_weight_ ? StageSection::weight : StageSection::backward);
  }
  static LayerSpan::Kind kind_of(StageSection section) {
    return section == StageSection::forward    ? LayerSpan::forward
           : section == StageSection::backward ? LayerSpan::backward
                                               : LayerSpan::weight;
  }

  int add(int group, TaskQueue queue, double seconds, TaskInfo info) {
    tasks_.push_back(std::move(info));
    return graph_.add({.group = group, .queue = queue, .seconds = std::max(0.0, seconds)});
  }

  /// What the update of the step before made in parts.
  void gather_ahead() {
    if (!software().gathers_ahead) return;
    for (int s = 0; s < prices_.stages(); ++s) {
      double seconds = 0;
      for (const Layer& layer : layers_[static_cast<size_t>(s)]) seconds += layer.ahead;
      if (seconds > 0) {
        group(s).gathers.push_back(
            add(prices_.group_of(s), TaskQueue::communicate, seconds,
                {.span = {.kind = LayerSpan::gather, .stage = s}, .kind = Collective::all_gather}));
      }
    }
  }

  void add_slot(const Slot& slot) {
    const std::vector<Layer>& layers = layers_[static_cast<size_t>(slot.stage)];
    const bool by_layers = slot.micro_batch + 1 == micro_batches_ && makes_gradients(slot.section);
    const bool gathers = slot.section != StageSection::weight;
    StepItem whole{.kind = kind_of(slot.section), .stage = slot.stage, .micro_batch = slot.micro_batch};
    if (by_layers) {
      double bytes = 0, seconds = 0;
      for (size_t l = layers.size(); l-- > 0;) {
        StepItem item = whole;
        item.unit = layers[l].unit;
        item.seconds = seconds_of(slot.section, unit(layers[l].unit));
        item.first_gather = gathers ? layers[l].gather : 0;
        add_item(item, l + 1 == layers.size(), slot);
        bytes += layers[l].bytes;
        seconds += layers[l].reduce;
        for (const auto& [kind, late] : layers[l].late) add_reduction(slot, kind, late, layers[l].unit);
        if (bytes < kMessageBytes && l > 0) continue;
        add_reduction(slot, layers[l].reduction, seconds, layers[l].unit);
        bytes = seconds = 0;
      }
    } else {
      double reduce = 0;
      for (const Layer& layer : layers) {
        whole.seconds += seconds_of(slot.section, unit(layer.unit));
        whole.gather += gathers ? layer.gather : 0;
        reduce += layer.reduce;
      }
      whole.first_gather = layers.empty() ? 0 : whole.gather / static_cast<double>(layers.size());
      whole.gather -= whole.first_gather;
      add_item(whole, true, slot);
      if (zero_ >= 2 && makes_gradients(slot.section)) add_reduction(slot, layers.back().reduction, reduce, {});
    }
    add_transfer(slot);
  }

  /// Parameters are gathered while what is computed before runs.
  void add_item(const StepItem& item, bool begins_slot, const Slot& slot) {
    Group& own = group(item.stage);
    const int number = prices_.group_of(item.stage);
    const LayerSpan span{.kind = item.kind, .stage = item.stage, .unit = item.unit, .micro_batch = item.micro_batch};
    const auto gather = [&](double seconds) {
      LayerSpan gathered = span;
      gathered.kind = LayerSpan::gather;
      const int task = add(number, TaskQueue::communicate, seconds, {.span = gathered, .kind = Collective::all_gather});
      if (own.computed.size() > 1) graph_.need(task, own.computed[own.computed.size() - 2]);
      return task;
    };
    const int first = item.first_gather > 0 ? gather(item.first_gather) : -1;
    const int others = item.gather > 0 ? gather(item.gather) : -1;
    const int task = add(number, TaskQueue::compute, item.seconds, {.span = span});
    if (first >= 0) graph_.need(task, first);
    if (begins_slot) {
      if (const auto sent = sent_.find({item.stage, static_cast<int>(slot.section), slot.micro_batch});
          sent != sent_.end())
        graph_.need(task, sent->second);
    }
    own.computed.push_back(task);
    std::vector<int> joined = slot.micro_batch == 0 ? std::exchange(own.gathers, {}) : std::vector<int>{};
    if (others >= 0) joined.push_back(others);
    if (joined.empty()) return;
    const int join =
        add(number, TaskQueue::compute, 0, {.span = span, .kind = Collective::all_gather, .is_join = true});
    for (const int gathered : joined) graph_.need(join, gathered);
    own.computed.push_back(join);
  }

  void add_reduction(const Slot& slot, Collective kind, double seconds, std::optional<size_t> unit) {
    if (seconds <= 0) return;
    Group& own = group(slot.stage);
    TaskInfo info{
        .span = {.kind = LayerSpan::reduce, .stage = slot.stage, .unit = unit, .micro_batch = slot.micro_batch},
        .kind = kind};
    if (software().reduces_behind && slot.micro_batch + 1 == micro_batches_) {
      behind_.push_back({prices_.group_of(slot.stage), seconds, std::move(info)});
      return;
    }
    const int task = add(prices_.group_of(slot.stage), TaskQueue::communicate, seconds, std::move(info));
    graph_.need(task, own.computed.back());
    own.reductions.push_back(task);
  }

  void add_transfer(const Slot& slot) {
    if (slot.section == StageSection::weight) return;
    const bool forward = slot.section == StageSection::forward;
    const int to = slot.stage + (forward ? 1 : -1);
    if (to < 0 || to >= prices_.stages()) return;
    const double seconds = prices_.transfer_seconds(std::max(to, slot.stage));
    const int task = add(prices_.group_of(slot.stage), TaskQueue::transfer, seconds,
                         {.span = {.kind = LayerSpan::transfer, .stage = slot.stage, .micro_batch = slot.micro_batch},
                          .kind = Collective::send});
    graph_.need(task, group(slot.stage).computed.back());
    sent_[{to, static_cast<int>(slot.section), slot.micro_batch}] = task;
  }

  void add_update(int number) {
    Group& own = groups_[static_cast<size_t>(number)];
    for (const Behind& one : behind_) {
      if (one.group != number) continue;
      const int task = add(number, TaskQueue::communicate, one.seconds, one.info);
      graph_.need(task, own.computed.back());
      own.reductions.push_back(task);
    }
    const UnitCosts costs = prices_.group_costs(number);
    const int update = add(number, TaskQueue::compute, prices_.update_kernels(costs, zero_),
                           {.span = {.kind = LayerSpan::update, .stage = number}});
    for (const int reduction : own.reductions) graph_.need(update, reduction);
    own.computed.push_back(update);
    if (software().gathers_ahead) return;
    double ahead = 0;
    for (int s = number; s < prices_.stages(); s += groups()) {
      for (const Layer& layer : layers_[static_cast<size_t>(s)]) ahead += layer.ahead;
    }
    if (ahead <= 0) return;
    const LayerSpan span{.kind = LayerSpan::gather, .stage = number};
    const int gather = add(number, TaskQueue::communicate, ahead, {.span = span, .kind = Collective::all_gather});
    graph_.need(gather, update);
    const int join =
        add(number, TaskQueue::compute, 0, {.span = span, .kind = Collective::all_gather, .is_join = true});
    graph_.need(join, gather);
    own.computed.push_back(join);
  }

  /// What ends when a task of the compute queue begins, and is a message.
  std::vector<int> blockers() const {
    std::vector<int> blocking(tasks_.size(), -1);
    for (const TaskGraph::Need& need : graph_.needs()) {
      int& known = blocking[static_cast<size_t>(need.task)];
      if (known < 0 || times_[static_cast<size_t>(need.earlier)].end > times_[static_cast<size_t>(known)].end)
        known = need.earlier;
    }
    return blocking;
  }

  LayerStep result(const LayerStepOptions& options) {
    LayerStep step;
    step.groups.resize(static_cast<size_t>(groups()));
    double end = 0;
    for (const TimedTask& time : times_) end = std::max(end, time.end);
    const std::vector<int> blocking = blockers();
    for (size_t t = 0; t < tasks_.size(); ++t) account(t, blocking[t], step, options.spans);
    double busiest = 0;
    for (int g = 0; g < groups(); ++g) {
      LayerStepGroup& own = step.groups[static_cast<size_t>(g)];
      busiest = std::max(busiest, prices_.busy_seconds(g));
      double sum = own.compute + own.update;
      for (const auto& [kind, seconds] : own.exposed) sum += seconds;
      own.bubble = std::max(0.0, end - sum);
      if (options.memory) add_memory(g, own);
    }
    step.repeated =
        busiest * static_cast<double>(all_micro_batches_ - micro_batches_) / static_cast<double>(all_micro_batches_);
    step.seconds = end + step.repeated + software().step_overhead;
    return step;
  }

  void account(size_t t, int blocking, LayerStep& step, bool keeps_spans) const {
    const Task& task = graph_.tasks()[t];
    const TaskInfo& info = tasks_[t];
    LayerStepGroup& own = step.groups[static_cast<size_t>(task.group)];
    const TimedTask& time = times_[t];
    if (keeps_spans && !info.is_join) {
      LayerSpan span = info.span;
      span.begin = time.begin;
      span.end = time.end;
      own.spans.push_back(span);
    }
    if (task.queue != TaskQueue::compute) return;
    if (blocking >= 0 && tasks_[static_cast<size_t>(blocking)].kind) {
      const TimedTask& message = times_[static_cast<size_t>(blocking)];
      const double beside = time.begin - std::max(time.free, message.begin);
      if (beside > 0) own.exposed[*tasks_[static_cast<size_t>(blocking)].kind] += beside;
    }
    if (info.is_join) return;
    if (info.span.kind == LayerSpan::update) {
      own.update += time.end - time.begin;
      return;
    }
    own.compute += time.end - time.begin;
    for (const auto& [kind, seconds] : own_communication(info.span)) {
      own.exposed[kind] += seconds;
      own.compute -= seconds;
    }
  }

  /// What the ranks that share rows send to one another in a slot or a layer of it.
  std::map<Collective, double> own_communication(const LayerSpan& span) const {
    std::map<Collective, double> sum;
    if (span.kind == LayerSpan::weight) return sum;
    const auto add_unit = [&](size_t u) {
      const SectionCosts& costs = span.kind == LayerSpan::forward ? unit(u).forward : unit(u).backward;
      for (const auto& [kind, seconds] : costs.communication) sum[kind] += seconds;
    };
    if (span.unit) {
      add_unit(*span.unit);
    } else {
      for (const Layer& layer : layers_[static_cast<size_t>(span.stage)]) add_unit(layer.unit);
    }
    return sum;
  }

  /// States, and the activations of the micro-batches in flight.
  void add_memory(int number, LayerStepGroup& own) const {
    const StageMemory states = prices_.memory(number, zero_, 0);
    double bytes = states.parameters + states.gradients + states.optimizer + states.activations + states.workspace;
    std::vector<std::pair<double, double>> changes;
    for (size_t t = 0; t < tasks_.size(); ++t) {
      const LayerSpan& span = tasks_[t].span;
      if (graph_.tasks()[t].group != number || graph_.tasks()[t].queue != TaskQueue::compute || tasks_[t].is_join)
        continue;
      const LayerSpan::Kind last = has_weight_ ? LayerSpan::weight : LayerSpan::backward;
      if (span.kind != LayerSpan::forward && span.kind != last) continue;
      const double kept = span.unit ? unit(*span.unit).kept : prices_.kept(span.stage);
      const bool begins = span.kind == LayerSpan::forward;
      changes.emplace_back(begins ? times_[t].begin : times_[t].end, begins ? kept : -kept);
    }
    std::stable_sort(changes.begin(), changes.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    const double base = bytes;
    own.memory.push_back({0, bytes});
    for (const auto& [seconds, change] : changes) {
      bytes = std::max(base, bytes + change);
      own.memory.push_back({seconds, bytes});
    }
  }

  struct Behind {
    int group = 0;
    double seconds = 0;
    TaskInfo info;
  };
  StagePrices& prices_;
  const int64_t zero_;
  const int64_t all_micro_batches_, micro_batches_;
  bool has_weight_ = false;
  std::vector<std::vector<Layer>> layers_;  // by stage
  TaskGraph graph_;
  std::vector<TaskInfo> tasks_;
  std::vector<TimedTask> times_;
  std::vector<Group> groups_;
  std::vector<Behind> behind_;
  std::map<std::tuple<int, int, int64_t>, int> sent_;  // by stage, section and micro-batch of the receiver
};

LayerStep simulate_step(StagePrices& stages, int64_t zero, const LayerStepOptions& options) {
  return StepSimulation(stages, zero).run(options);
}

}  // namespace partita
