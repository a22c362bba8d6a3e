#include "planning/simulate_step.h"

#include <algorithm>

#include "planning/layer_tasks.h"

namespace partita {

/// What the times of the tasks say of the groups.
class StepSimulation {
 public:
  StepSimulation(StagePrices& prices, int64_t zero)
      : prices_(prices),
        zero_(zero),
        tasks_(prices, zero),
        times_(run(tasks_.graph(), {.overlap_slowdown = tasks_.software().overlap_slowdown})) {}

  LayerStep step(const LayerStepOptions& options) const {
    LayerStep step;
    step.groups.resize(static_cast<size_t>(tasks_.groups()));
    double end = 0;
    for (const TimedTask& time : times_) end = std::max(end, time.end);
    const std::vector<int> blocking = blockers();
    for (size_t t = 0; t < tasks_.tasks().size(); ++t) account(t, blocking[t], step, options.spans);
    double busiest = 0;
    for (int g = 0; g < tasks_.groups(); ++g) {
      LayerStepGroup& own = step.groups[static_cast<size_t>(g)];
      // What is computed beside messages takes longer, and nothing is sooner done than they are.
      const double sending = tasks_.sending(g), slowed = sending * (1 - 1 / tasks_.software().overlap_slowdown);
      busiest = std::max({busiest, prices_.busy_seconds(g) + slowed, sending});
      double sum = own.compute + own.update;
      for (const auto& [kind, seconds] : own.exposed) sum += seconds;
      own.bubble = std::max(0.0, end - sum);
      if (options.memory) add_memory(g, own);
    }
    step.repeated = busiest * tasks_.repeated();
    step.seconds = end + step.repeated + tasks_.software().step_overhead;
    return step;
  }

 private:
  /// What ends when a task of the compute queue begins, and is a message.
  std::vector<int> blockers() const {
    std::vector<int> blocking(tasks_.tasks().size(), -1);
    for (const TaskGraph::Need& need : tasks_.graph().needs()) {
      int& known = blocking[static_cast<size_t>(need.task)];
      if (known < 0 || times_[static_cast<size_t>(need.earlier)].end > times_[static_cast<size_t>(known)].end)
        known = need.earlier;
    }
    return blocking;
  }

  void account(size_t t, int blocking, LayerStep& step, bool keeps_spans) const {
    const Task& task = tasks_.graph().tasks()[t];
    const LayerTask& info = tasks_.tasks()[t];
    LayerStepGroup& own = step.groups[static_cast<size_t>(task.group)];
    const TimedTask& time = times_[t];
    if (keeps_spans && !info.is_join) {
      LayerSpan span = info.span;
      span.begin = time.begin;
      span.end = time.end;
      own.spans.push_back(span);
    }
    if (task.queue != TaskQueue::compute) return;
    if (blocking >= 0 && tasks_.tasks()[static_cast<size_t>(blocking)].kind) {
      const TimedTask& message = times_[static_cast<size_t>(blocking)];
      const double beside = time.begin - std::max(time.free, message.begin);
      if (beside > 0) own.exposed[*tasks_.tasks()[static_cast<size_t>(blocking)].kind] += beside;
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
      const SectionCosts& costs = span.kind == LayerSpan::forward ? tasks_.unit(u).forward : tasks_.unit(u).backward;
      for (const auto& [kind, seconds] : costs.communication) sum[kind] += seconds;
    };
    if (span.unit) {
      add_unit(*span.unit);
    } else {
      for (const size_t u : tasks_.units(span.stage)) add_unit(u);
    }
    return sum;
  }

  /// States, and the activations of the micro-batches in flight.
  void add_memory(int number, LayerStepGroup& own) const {
    // The gradients of a single micro-batch come as its activations go: they depend on these.
    const double in_flight = prices_.shape().stages() == 1 ? prices_.kept(0) : 0;
    double bytes = prices_.memory(number, zero_, in_flight).total() - in_flight;
    std::vector<std::pair<double, double>> changes;
    for (size_t t = 0; t < tasks_.tasks().size(); ++t) {
      const LayerSpan& span = tasks_.tasks()[t].span;
      if (tasks_.graph().tasks()[t].group != number || tasks_.graph().tasks()[t].queue != TaskQueue::compute ||
          tasks_.tasks()[t].is_join)
        continue;
      const LayerSpan::Kind last = tasks_.has_weight() ? LayerSpan::weight : LayerSpan::backward;
      if (span.kind != LayerSpan::forward && span.kind != last) continue;
      const double kept = span.unit ? tasks_.unit(*span.unit).kept : prices_.kept(span.stage);
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

  const StagePrices& prices_;
  const int64_t zero_;
  const LayerTasks tasks_;
  const std::vector<TimedTask> times_;
};

LayerStep simulate_step(StagePrices& stages, int64_t zero, const LayerStepOptions& options) {
  return StepSimulation(stages, zero).step(options);
}

}  // namespace partita
