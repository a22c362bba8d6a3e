#include "planner/pricing/step/simulate_step.h"

#include <algorithm>

#include "planner/pricing/step/layer_tasks.h"

namespace partita {

/// Derives the results of a step from the times of its tasks.
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
    double end = 0, busiest = 0;
    for (const TimedTask& time : times_) end = std::max(end, time.end);
    const std::vector<int> blocking = blockers();
    for (size_t t = 0; t < tasks_.tasks().size(); ++t) account(t, blocking[t], step, options.spans);
    for (int g = 0; g < tasks_.groups(); ++g) busiest = std::max(busiest, seconds_of_all(g));
    step.repeated = busiest * tasks_.repeated();
    step.seconds =
        end + step.repeated + prices_.request().cluster.overhead_of_step(prices_.request().configuration.ranks());
    for (int g = 0; g < tasks_.groups(); ++g) {
      LayerStepGroup& own = step.groups[static_cast<size_t>(g)];
      if (step.repeated > 0) repeat(g, own);
      double sum = own.compute + own.waiting + own.update;
      for (const auto& [kind, seconds] : own.exposed) sum += seconds;
      own.bubble = std::max(0.0, end + step.repeated - sum);
      if (options.memory) add_memory(g, own);
    }
    return step;
  }

 private:
  /// Seconds of all micro-batches of a group, with transfers. Messages slow the overlapped computation down, and the
  /// group takes at least as long as its messages of every micro-batch, of which reductions that are waited for overlap
  /// with no gather of their own section.
  double seconds_of_all(int group) const {
    const double reducing = tasks_.layers().reducing(group);
    return std::max({prices_.seconds().repeated(group) + reducing + slowed(group),
                     tasks_.layers().gathering_within(group) + reducing, sending(group)});
  }
  double sending(int group) const { return tasks_.layers().sending(group); }
  double slowed(int group) const {
    const SoftwareCosts& software = tasks_.software();
    const double transfers = software.waits_for_transfers ? 0 : prices_.seconds().transfers(group);
    return (sending(group) + transfers) * (1 - 1 / software.overlap_slowdown);
  }

  /// Adds the seconds of the micro-batches that were not simulated to those of a group.
  void repeat(int group, LayerStepGroup& own) const {
    const double part = tasks_.repeated(), rounds = static_cast<double>(prices_.costs().micro_batches()) * part;
    for (int64_t s = group; s < prices_.stages(); s += tasks_.groups()) {
      const UnitCosts& stage = prices_.costs().stage(s);
      for (const SectionCosts* section : {&stage.forward, &stage.backward}) {
        own.compute += rounds * section->compute;
        own.waiting += rounds * section->waiting;
        for (const auto& [kind, seconds] : section->communication) own.exposed[kind] += rounds * seconds;
      }
    }
    const double transfers = prices_.seconds().repeated(group) - prices_.seconds().computed(group);
    if (transfers > 0) own.exposed[Collective::send] += transfers * part;
    own.compute += slowed(group) * part;
    const double reducing = tasks_.layers().reducing(group);
    if (reducing > 0) own.exposed[Collective::reduce_scatter] += reducing * part;
    const double more = seconds_of_all(group) - prices_.seconds().repeated(group) - reducing - slowed(group);
    if (more > 0) own.exposed[zero_ == 3 ? Collective::all_gather : Collective::reduce_scatter] += more * part;
  }

  /// Returns for each task the dependency that ends last; -1 without dependencies.
  std::vector<int> blockers() const {
    std::vector<int> blocking(tasks_.tasks().size(), -1);
    for (const TaskGraph::Need& need : tasks_.graph().needs()) {
      int& latest = blocking[static_cast<size_t>(need.task)];
      if (latest < 0 || times_[static_cast<size_t>(need.earlier)].end > times_[static_cast<size_t>(latest)].end)
        latest = need.earlier;
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
    const TaskQueue awaited =
        blocking < 0 ? TaskQueue::compute : tasks_.graph().tasks()[static_cast<size_t>(blocking)].queue;
    if (awaited != TaskQueue::compute) {
      // All of the wait for a message among ranks that share the batch is exposed, since earlier messages delay it. The
      // wait before a transfer begins is a bubble, since another group delays it.
      const bool is_transfer = awaited == TaskQueue::transfer;
      const double begin = is_transfer ? times_[static_cast<size_t>(blocking)].begin : time.free;
      const double exposed = time.begin - std::max(time.free, begin);
      if (exposed > 0) own.exposed[*tasks_.tasks()[static_cast<size_t>(blocking)].kind] += exposed;
    }
    if (info.is_join) return;
    if (info.kind) {
      own.exposed[*info.kind] += time.end - time.begin;
      return;
    }
    if (info.span.kind == LayerSpan::update) {
      own.update += time.end - time.begin;
      return;
    }
    own.compute += time.end - time.begin;
    const SectionCosts costs = costs_of(info.span);
    own.waiting += costs.waiting;
    own.compute -= costs.waiting;
    for (const auto& [kind, seconds] : costs.communication) {
      own.exposed[kind] += seconds;
      own.compute -= seconds;
    }
  }

  /// The costs of a section of a stage, or of one of its layers; all 0 for separate gradients of weights, which have no
  /// communication among the ranks that share rows.
  SectionCosts costs_of(const LayerSpan& span) const {
    SectionCosts sum;
    if (span.kind == LayerSpan::weight) return sum;
    if (span.layer) {
      const UnitCosts& layer = tasks_.costs_of(*span.layer);
      sum.add(span.kind == LayerSpan::forward ? layer.forward : layer.backward);
    } else {
      const UnitCosts& stage = prices_.costs().stage(span.stage);
      sum = span.kind == LayerSpan::forward ? stage.forward : stage.backward;
    }
    return sum;
  }

  /// Adds to `own` the bytes of group `number` over time: what it holds throughout, and the activations of the
  /// micro-batches in flight.
  void add_memory(int number, LayerStepGroup& own) const {
    // The gradients of a single micro-batch are made while its activations are released, so they depend on these.
    const double in_flight = prices_.shape().stages() == 1 ? prices_.costs().kept(0) : 0;
    double bytes = prices_.memory().of_group(number, zero_, in_flight).total() - in_flight;
    std::vector<std::pair<double, double>> changes;
    for (size_t t = 0; t < tasks_.tasks().size(); ++t) {
      const LayerSpan& span = tasks_.tasks()[t].span;
      if (tasks_.graph().tasks()[t].group != number || tasks_.graph().tasks()[t].queue != TaskQueue::compute ||
          tasks_.tasks()[t].is_join)
        continue;
      const LayerSpan::Kind last = tasks_.has_weight() ? LayerSpan::weight : LayerSpan::backward;
      if (span.kind != LayerSpan::forward && span.kind != last) continue;
      const double kept = span.layer ? tasks_.costs_of(*span.layer).kept : prices_.costs().kept(span.stage);
      const bool begins = span.kind == LayerSpan::forward;
      changes.emplace_back(begins ? times_[t].begin : times_[t].end, begins ? kept : -kept);
    }
    std::ranges::stable_sort(changes, [](const auto& a, const auto& b) { return a.first < b.first; });
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

Price price_of(StagePrices& stages, int64_t zero) {
  const LayerStep step = simulate_step(stages, zero);
  const LayerStepGroup& busiest = *std::ranges::min_element(
      step.groups, [](const LayerStepGroup& a, const LayerStepGroup& b) { return a.bubble < b.bubble; });
  const PriceRequest& request = stages.request();
  const auto ranks = static_cast<double>(request.configuration.ranks());
  return {.step_seconds = step.seconds,
          .tflops_per_device = request.step_flops / step.seconds / ranks / 1e12,
          .breakdown = {.compute = busiest.compute,
                        .waiting = busiest.waiting,
                        .communication = busiest.exposed,
                        .bubble = busiest.bubble,
                        .update = busiest.update + request.cluster.overhead_of_step(request.configuration.ranks())},
          .memory = stages.memory(zero),
          .single_layers = stages.memory().single_layers(zero),
          .layers = stages.layers()};
}

}  // namespace partita
