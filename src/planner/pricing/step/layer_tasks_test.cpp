// Random layers: a message runs along with a computation that is as long, whatever the order of a step.

#include "planner/pricing/step/layer_tasks.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "planner/cluster/presets.h"
#include "planner/cluster/software.h"

namespace partita {
namespace {

using Random = std::mt19937_64;

double draw(Random& random, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(random);
}

template <class T>
T one_of(Random& random, const std::vector<T>& all) {
  return all[std::uniform_int_distribution<size_t>(0, all.size() - 1)(random)];
}

int64_t number_from(const char* variable, int64_t otherwise) {
  const char* given = std::getenv(variable);
  return given == nullptr ? otherwise : std::atoll(given);
}

/// A step of layers with random parameters and times on a cluster with links of random bandwidth.
class RandomStep {
 public:
  explicit RandomStep(uint64_t seed)
      : random_(seed),
        cluster_(drawn_cluster()),
        device_(cluster_.rank_device()),
        places_(cluster_),
        configuration_(drawn_configuration()) {
    const size_t units = 2 * static_cast<size_t>(configuration_.pipeline * configuration_.interleave);
    for (size_t u = 0; u < units; ++u) {
      folded_.units.push_back(
          {.begin = u, .end = u + 1, .whole_begin = u, .count = one_of<size_t>(random_, {1, 1, 2})});
      UnitCosts& unit = costs_.units.emplace_back();
      unit.parameters = draw(random_, 1e5, 3e7);
      unit.boundary = draw(random_, 0, 1e7);
      times_.push_back({draw(random_, 1, 3), draw(random_, 1, 3), draw(random_, 0, 1)});
    }
    scale(1e-3);
  }

  const Configuration& configuration() const { return configuration_; }
  const SoftwareCosts& software() const { return cluster_.software; }
  std::string name() const {
    return fmt::format("{} of {}, {} layers", print(configuration_), cluster_.software.name, folded_.units.size());
  }

  /// Sets the computations of layers: the shortest takes `seconds`.
  void scale(double seconds) {
    for (size_t u = 0; u < times_.size(); ++u) {
      UnitCosts& unit = costs_.units[u];
      unit.forward.compute = times_[u].forward * seconds;
      unit.backward.compute = (times_[u].backward + times_[u].weight) * seconds;
      unit.backward_weights = times_[u].weight * seconds;
    }
  }

  StagePrices prices() {
    return StagePrices({.folded = folded_,
                        .recomputable = recomputable_,
                        .costs = [this](Recompute) -> const LayerCosts& { return costs_; },
                        .configuration = configuration_,
                        .batch = configuration_.data* micro_batches_,
                        .step_flops = 1,
                        .cluster = cluster_,
                        .device = device_,
                        .places = places_,
                        .orders = orders_,
                        .kept_micro_batches = kept_,
                        .precision = Precision::of(DType::bf16)});
  }

 private:
  Cluster drawn_cluster() {
    Cluster cluster = cluster_named("a100-80:4");
    use_software(cluster, one_of<std::string>(random_, {"partita", "megatron-core", "megatron-lm"}));
    cluster.software.host_overhead = cluster.software.step_overhead = 0;
    const double faster = draw(random_, 0.05, 2);
    for (LinkLevel& level : cluster.levels) level.bandwidth *= faster;
    return cluster;
  }

  Configuration drawn_configuration() {
    Configuration one{.data = one_of<int64_t>(random_, {2, 4, 8}), .pipeline = one_of<int64_t>(random_, {1, 1, 2, 4})};
    one.zero = one_of<int64_t>(random_, {0, 1, 2, 3, 3, 3});
    one.micro_batch = 1;
    micro_batches_ = one_of<int64_t>(random_, {1, 2, 3, 4});
    if (one.pipeline == 1) return one;
    one.interleave = one_of<int64_t>(random_, {1, 1, 2, 3});
    one.order = one.interleave > 1
                    ? Order::interleaved
                    : one_of<Order>(random_, {Order::one_forward_one_backward, Order::zero_bubble, Order::gpipe});
    return one;
  }

  Random random_;
  const Cluster cluster_;
  const DeviceSpec device_;
  Places places_;
  int64_t micro_batches_ = 1;
  const Configuration configuration_;
  FoldedGraph folded_;
  const std::vector<bool> recomputable_ = std::vector<bool>(64, false);
  std::vector<StageTimes> times_;  // per layer, relative
  LayerCosts costs_;
  OrderCache orders_;
  KeptMicroBatchesCache kept_;
};

/// For each task, its index among the computations of its group, and the largest index of one that it waits for
/// directly or by the order of its queue; -1: none. Tasks of other groups do not count.
struct Positions {
  explicit Positions(const LayerTasks& tasks) {
    const std::vector<Task>& all = tasks.graph().tasks();
    index.assign(all.size(), -1);
    waits.assign(all.size(), -1);
    std::vector<std::vector<int>> needs(all.size());
    for (const TaskGraph::Need& need : tasks.graph().needs()) needs[need.task].push_back(need.earlier);
    std::vector<int> computations(static_cast<size_t>(tasks.groups()), 0), messages(computations.size(), -1);
    for (size_t t = 0; t < all.size(); ++t) {
      const auto group = static_cast<size_t>(all[t].group);
      if (all[t].queue == TaskQueue::compute) index[t] = computations[group]++;
      for (const int earlier : needs[t]) {
        if (all[earlier].group != all[t].group) continue;
        waits[t] = std::max(waits[t], all[earlier].queue == TaskQueue::compute ? index[earlier] : waits[earlier]);
      }
      if (all[t].queue != TaskQueue::communicate) continue;
      falls = falls || waits[t] < messages[group];
      messages[group] = waits[t] = std::max(waits[t], messages[group]);
    }
  }
  std::vector<int> index, waits;
  bool falls = false;  // whether a message is in a queue after one that waits for a later computation
};

// A queue runs in its order, so a message must not be after one that waits for a later computation.
TEST(LayerTasks, NoMessageHoldsUpOneThatCouldBeginSooner) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    RandomStep step(seed);
    const StagePrices prices = step.prices();
    const LayerTasks tasks(prices, step.configuration().zero);
    const Positions positions(tasks);
    EXPECT_FALSE(positions.falls) << step.name();
    for (const TaskGraph::Need& need : tasks.graph().needs()) {
      const LayerTask& info = tasks.tasks()[need.task];
      if (info.span.kind == LayerSpan::update || tasks.graph().tasks()[need.task].queue != TaskQueue::compute) continue;
      if (tasks.graph().tasks()[need.earlier].queue != TaskQueue::communicate) continue;
      if (info.is_join && info.span.kind == LayerSpan::gather) continue;  // updated parameters
      EXPECT_LE(positions.waits[need.earlier], std::max(-1, positions.index[need.task] - 2))
          << step.name() << ": a computation waits for a message that the one before it holds up";
    }
  }
}

/// Seconds of messages among the ranks that share the batch: exposed, and those that no computation can hide.
struct Messages {
  double exposed = 0, unhidden = 0;
};

Messages messages_of(RandomStep& step) {
  StagePrices prices = step.prices();
  const int64_t zero = step.configuration().zero;
  const bool waits = prices.seconds().waits_for_micro_batches(zero), is_late = step.software().reduces_after_backward,
             is_after_update = zero > 0 && zero < 3 && !step.software().prefetches_parameters;
  const LayerStep simulated = simulate_step(prices, zero, {.spans = true});
  Messages sum;
  for (const LayerStepGroup& group : simulated.groups) {
    for (const auto& [kind, seconds] : group.exposed) sum.exposed += kind == Collective::send ? 0 : seconds;
    double first = std::numeric_limits<double>::infinity(), last = 0, head = 0, tail = 0;
    for (const LayerSpan& span : group.spans) {
      if (span.kind != LayerSpan::forward && span.kind != LayerSpan::backward && span.kind != LayerSpan::weight)
        continue;
      first = std::min(first, span.begin);
      last = std::max(last, span.end);
    }
    for (const LayerSpan& span : group.spans) {
      const double seconds = span.end - span.begin;
      const bool is_gather = span.kind == LayerSpan::gather, is_reduction = span.kind == LayerSpan::reduce;
      if (is_gather && span.begin < first) head = head > 0 ? head : seconds;         // before the first computation
      if (is_reduction && waits) sum.unhidden += seconds;                            // in place of computations
      if (is_reduction && !waits && is_late && span.begin >= last) tail += seconds;  // all of the last micro-batch
      if (is_reduction && !waits && !is_late && span.begin >= last) tail = seconds;  // of the last layers
      if (is_gather && is_after_update && span.begin >= last) tail += seconds;
    }
    sum.unhidden += head + tail;
  }
  return sum;
}

// Longer computations hide all messages that run along with them. What is left is before the first one, after the last
// one, or what the software does not overlap.
TEST(LayerTasks, LongComputationsLeaveNothingExposed) {
  int64_t checked = 0;
  for (int64_t seed = 0; seed < number_from("PARTITA_STEPS", 400); ++seed) {
    RandomStep step(static_cast<uint64_t>(seed));
    step.scale(100);
    const Messages messages = messages_of(step);
    EXPECT_LE(messages.exposed, messages.unhidden * (1 + 1e-9) + 1e-6) << seed << ": " << step.name();
    checked += messages.unhidden > 0 ? 1 : 0;
  }
  EXPECT_GT(checked, 100);
}

// On one group of ranks, longer computations never leave more exposed.
TEST(LayerTasks, MoreComputationLeavesNoMoreExposed) {
  int64_t hidden = 0;
  for (int64_t seed = 0; seed < number_from("PARTITA_STEPS", 400); ++seed) {
    RandomStep step(static_cast<uint64_t>(seed));
    if (step.configuration().pipeline > 1) continue;
    double before = std::numeric_limits<double>::infinity();
    for (const double seconds : {1e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 1e-1}) {
      step.scale(seconds);
      const double exposed = messages_of(step).exposed;
      EXPECT_LE(exposed, before * (1 + 1e-9) + 1e-12) << seed << ": " << step.name() << " of " << seconds;
      hidden += exposed < 0.9 * before && std::isfinite(before) ? 1 : 0;
      before = exposed;
    }
  }
  EXPECT_GT(hidden, 100);
}

}  // namespace
}  // namespace partita
