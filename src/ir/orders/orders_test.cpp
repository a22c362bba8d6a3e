#include <gtest/gtest.h>

#include <chrono>
#include <random>

#include "ir/orders/check.h"
#include "ir/orders/draw.h"
#include "ir/orders/in_flight.h"
#include "ir/orders/simulate.h"
#include "ir/orders/test_orders.h"
#include "ir/orders/text.h"
#include "support/texts/texts.h"

namespace partita {
namespace {

constexpr double kExact = 1e-12;

std::string described(Order order, const PipelineShape& shape) {
  return fmt::format("{} on groups ({}), {} micro-batches", name_of(order), fmt::join(shape.groups, ","),
                     shape.micro_batches);
}

Sequence chained(Order order, const PipelineShape& shape) {
  return make_sequence(order, shape, chain_of(shape.stages()));
}

Simulation simulated(Order order, const PipelineShape& shape) {
  return simulate(chained(order, shape), shape, chain_of(shape.stages()));
}

int64_t forward_to(StageSection to, const Sequence& sequence, int stage) {
  return copies(sequence, stage, StageSection::forward, stage, to);
}

TEST(Orders, EveryPipelineHasAnOrderThatEnds) {
  for (const PipelineShape& shape : pipelines()) {
    for (const Order order : kOrders) {
      for (const auto& dependencies : {chain_of(shape.stages()), with_skips(shape.stages())}) {
        SCOPED_TRACE(described(order, shape));
        const Sequence sequence = make_sequence(order, shape, dependencies);
        const int64_t sections = order == Order::zero_bubble ? 3 : 2;
        EXPECT_EQ(static_cast<int64_t>(sequence.size()), sections * shape.stages() * shape.micro_batches);
        EXPECT_NO_THROW(check(sequence, shape, dependencies));
        EXPECT_TRUE(is_topological(sequence, dependencies));
        EXPECT_TRUE(ends(sequence, shape, dependencies));
        EXPECT_EQ(in_order_of_time(sequence, shape, dependencies), sequence);
      }
    }
  }
}

TEST(Orders, AnyTimesAndMappings) {
  std::mt19937 random(7);
  const auto below = [&](int end) { return static_cast<int>(random() % static_cast<unsigned>(end)); };
  for (int round = 0; round < 400; ++round) {
    PipelineShape shape{{}, 1 + below(9)};
    const int stages = 1 + below(7), groups = 1 + below(stages);
    for (int stage = 0; stage < stages; ++stage) {
      shape.groups.push_back(stage < groups ? stage : below(groups));
      shape.times.push_back({below(4) * 0.3, below(4) * 0.7, below(3) * 1.1});  // some of them 0
    }
    std::shuffle(shape.groups.begin(), shape.groups.end(), random);
    std::vector<Dependency> dependencies;  // any acyclic graph, stages in any order
    std::vector<int> order(stages);
    for (int i = 0; i < stages; ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), random);
    for (int edge = 0; edge < 2 * stages; ++edge) {
      const int a = below(stages), b = below(stages);
      if (a >= b) continue;
      const StageSection section = kSlotSections[below(3)];
      const bool is_forward = section == StageSection::forward;
      dependencies.push_back({order[is_forward ? a : b], section, order[is_forward ? b : a], section});
    }
    for (const Order kind : kOrders) {
      SCOPED_TRACE(described(kind, shape));
      const Sequence sequence = make_sequence(kind, shape, dependencies);
      EXPECT_NO_THROW(check(sequence, shape, dependencies));
      EXPECT_TRUE(is_topological(sequence, dependencies));
      const Simulation simulation = simulate(sequence, shape, dependencies);
      for (size_t i = 1; i < simulation.slots.size(); ++i) {
        EXPECT_LE(simulation.slots[i - 1].start, simulation.slots[i].start);
      }
      EXPECT_EQ(sequence_of(simulation), sequence) << "sorted by start";
    }
  }
}

TEST(Orders, GpipeRunsAllForwardsFirst) {
  for (const PipelineShape& shape : pipelines()) {
    const Sequence sequence = chained(Order::gpipe, shape);
    for (const std::vector<Slot>& queue : queues_of(sequence, shape)) {
      EXPECT_TRUE(std::ranges::is_sorted(queue, [](const Slot& a, const Slot& b) { return a.section < b.section; }))
          << described(Order::gpipe, shape);
    }
    EXPECT_EQ(forward_to(StageSection::backward, sequence, 0), shape.micro_batches);
  }
}

TEST(Orders, MicroBatchesInFlight) {
  for (const PipelineShape& shape : pipelines()) {
    const bool has_own_ranks = shape.group_count() == shape.stages();
    const Sequence one = chained(Order::one_forward_one_backward, shape), zero = chained(Order::zero_bubble, shape);
    for (int stage = 0; stage < shape.stages(); ++stage) {
      SCOPED_TRACE(fmt::format("{}, stage {}", described(Order::zero_bubble, shape), stage));
      const int64_t most = std::min<int64_t>(shape.micro_batches, shape.stages() - stage);
      const int64_t in_one = forward_to(StageSection::backward, one, stage);
      const int64_t in_zero = forward_to(StageSection::backward, zero, stage);
      EXPECT_LE(in_one, most);
      EXPECT_LE(in_zero, most);
      EXPECT_LE(forward_to(StageSection::weight, zero, stage), shape.stages());
      if (!has_own_ranks) continue;
      EXPECT_EQ(in_one, most);
      EXPECT_EQ(in_zero, most);
      EXPECT_EQ(forward_to(StageSection::weight, zero, stage), std::min<int64_t>(shape.micro_batches, shape.stages()));
    }
    if (has_own_ranks) {
      EXPECT_EQ(chained(Order::interleaved, shape), one);
    }
  }
}

TEST(Orders, CopiesOfWhatIsSentAndOfWhatStays) {
  const Sequence sequence = chained(Order::one_forward_one_backward, one_stage_each(3, 8));
  EXPECT_EQ(copies(sequence, 0, StageSection::forward, 0, StageSection::forward), 1);
  EXPECT_EQ(copies(sequence, 0, StageSection::forward, 1, StageSection::forward), 2) << "one is made, one is used";
  EXPECT_EQ(copies(sequence, 0, StageSection::forward, 2, StageSection::backward), 3);
  EXPECT_EQ(copies(sequence, 2, StageSection::forward, 2, StageSection::weight), 8) << "kept, as nothing uses it";
  const Sequence by_hand{{0, StageSection::forward, 0},  {0, StageSection::forward, 1}, {0, StageSection::backward, 0},
                         {0, StageSection::forward, 2},  {0, StageSection::forward, 3}, {0, StageSection::backward, 1},
                         {0, StageSection::backward, 2}, {0, StageSection::backward, 3}};
  EXPECT_EQ(copies(by_hand, 0, StageSection::forward, 0, StageSection::backward), 3);
}

TEST(Orders, InterleavedMicroBatchesInFlight) {
  // Narayanan et al. 2021: group p of P begins 2 (P - p - 1) + (V - 1) P forward passes of its V chunks before it
  // alternates.
  const int groups = 4, chunks = 2;
  const PipelineShape shape = chunks_on(groups, groups * chunks, 16);
  const GroupQueues queues = queues_of(chained(Order::interleaved, shape), shape);
  for (int group = 0; group < groups; ++group) {
    const auto is_backward = [](const Slot& slot) { return slot.section == StageSection::backward; };
    const auto first = std::ranges::find_if(queues[group], is_backward);
    EXPECT_EQ(first - queues[group].begin(), 2 * (groups - group - 1) + (chunks - 1) * groups + 1);
  }
}

/// Returns the given number of forward passes, then a backward and a forward pass in turn, then the other backward
/// passes.
std::vector<Slot> alternating(const std::vector<Slot>& forwards, const std::vector<Slot>& backwards, size_t warm_up) {
  std::vector<Slot> queue;
  for (size_t i = 0; i < forwards.size() + warm_up; ++i) {
    if (i < forwards.size()) queue.push_back(forwards[i]);
    if (i >= warm_up) queue.push_back(backwards[i - warm_up]);
  }
  return queue;
}

TEST(Orders, OneForwardOneBackwardIsItsClosedForm) {
  for (const int stages : {1, 2, 3, 4, 6}) {
    for (const int64_t micro_batches : {1, 2, 3, 4, 8, 13}) {
      const PipelineShape shape = one_stage_each(stages, micro_batches);
      const GroupQueues queues = queues_of(chained(Order::one_forward_one_backward, shape), shape);
      for (int stage = 0; stage < stages; ++stage) {
        std::vector<Slot> forwards, backwards;
        for (int64_t i = 0; i < micro_batches; ++i) {
          forwards.push_back({stage, StageSection::forward, i});
          backwards.push_back({stage, StageSection::backward, i});
        }
        const auto warm_up = static_cast<size_t>(std::min<int64_t>(stages - stage - 1, micro_batches));
        EXPECT_EQ(queues[stage], alternating(forwards, backwards, warm_up)) << described(Order::gpipe, shape);
      }
    }
  }
}

TEST(Orders, InterleavedIsItsClosedForm) {
  // Slot k of a group belongs to round k / (P V), chunk k % (P V) / P, and micro-batch k % P of the round.
  for (const auto& [groups, chunks, rounds] : {std::array{2, 2, 2}, {2, 3, 4}, {3, 2, 1}, {4, 2, 2}, {4, 4, 3}}) {
    const PipelineShape shape = chunks_on(groups, groups * chunks, groups * rounds);
    const GroupQueues queues = queues_of(chained(Order::interleaved, shape), shape);
    for (int group = 0; group < groups; ++group) {
      std::vector<Slot> forwards, backwards;
      for (int k = 0; k < groups * chunks * rounds; ++k) {
        const int chunk = k % (groups * chunks) / groups, micro_batch = k / (groups * chunks) * groups + k % groups;
        forwards.push_back({chunk * groups + group, StageSection::forward, micro_batch});
        backwards.push_back({(chunks - 1 - chunk) * groups + group, StageSection::backward, micro_batch});
      }
      const size_t warm_up = 2 * (groups - group - 1) + (chunks - 1) * groups;
      EXPECT_EQ(queues[group], alternating(forwards, backwards, std::min(warm_up, forwards.size())))
          << described(Order::interleaved, shape) << ", group " << group;
    }
  }
}

TEST(Orders, MicroBatchesInFlightUnderAnyTimes) {
  std::mt19937 random(23);
  for (int round = 0; round < 200; ++round) {
    PipelineShape shape = one_stage_each(1 + static_cast<int>(random() % 6), 1 + random() % 12);
    const auto time = [&] { return 0.1 + static_cast<double>(random() % 30) / 10; };
    for (int stage = 0; stage < shape.stages(); ++stage) shape.times.push_back({time(), time(), time()});
    const Sequence sequence = chained(Order::zero_bubble, shape);
    for (int stage = 0; stage < shape.stages(); ++stage) {
      EXPECT_EQ(forward_to(StageSection::backward, sequence, stage),
                std::min<int64_t>(shape.micro_batches, shape.stages() - stage));
      EXPECT_LE(forward_to(StageSection::weight, sequence, stage), shape.stages());
    }
  }
}

TEST(Orders, BubblesOfBalancedStages) {
  for (const int64_t micro_batches : {1, 2, 3, 4, 8, 13, 40}) {
    for (int stages = 1; stages <= 6; ++stages) {
      const PipelineShape shape = one_stage_each(stages, micro_batches);
      SCOPED_TRACE(described(Order::zero_bubble, shape));
      const auto M = static_cast<double>(micro_batches), S = static_cast<double>(stages);
      const double bubble = (S - 1) / (M + S - 1);
      for (const Order order : {Order::gpipe, Order::one_forward_one_backward, Order::interleaved}) {
        const Simulation simulation = simulated(order, shape);
        EXPECT_NEAR(simulation.bubble(), bubble, kExact);
        for (int group = 0; group < stages; ++group) EXPECT_NEAR(simulation.bubble(group), bubble, kExact);
      }
      const Simulation zero = simulated(Order::zero_bubble, shape);
      // With fewer micro-batches than stages, the first way there and back takes all the time.
      const double seconds = micro_batches >= stages ? 3 * M + S - 1 : 2 * M + 2 * S - 1;
      EXPECT_NEAR(zero.seconds, seconds, kExact);
      EXPECT_NEAR(zero.bubble(), (seconds - 3 * M) / seconds, kExact);
      if (micro_batches >= stages) {
        EXPECT_LE(zero.bubble(), bubble / 2);
      }
    }
  }
}

TEST(Orders, ZeroBubbleIsAThirdForManyMicroBatches) {
  const PipelineShape shape = one_stage_each(4, 1000);
  const double ratio =
      simulated(Order::zero_bubble, shape).bubble() / simulated(Order::one_forward_one_backward, shape).bubble();
  EXPECT_NEAR(ratio, 1.0 / 3, 1e-3);
}

TEST(Orders, InterleavingDividesTheBubbleByTheChunks) {
  for (const auto& [groups, chunks, rounds] : {std::array{2, 2, 2}, {2, 3, 4}, {3, 2, 1}, {4, 2, 2}, {4, 4, 3}}) {
    const PipelineShape shape = chunks_on(groups, groups * chunks, groups * rounds);
    SCOPED_TRACE(described(Order::interleaved, shape));
    const double P = groups, V = chunks, M = groups * rounds;
    const Simulation simulation = simulated(Order::interleaved, shape);
    EXPECT_NEAR(simulation.bubble(), (P - 1) / (V * M + P - 1), kExact);
    // Stages V times as long on the same ranks: the same work, and V times the idle time.
    PipelineShape whole = one_stage_each(groups, groups * rounds);
    whole.times.assign(groups, {V, V, V});
    EXPECT_NEAR(simulated(Order::one_forward_one_backward, whole).idle[0], V * simulation.idle[0], kExact);
  }
}

TEST(Orders, InterleavedIsNeverLongerThanOneForwardOneBackward) {
  for (const PipelineShape& shape : pipelines()) {
    EXPECT_LE(simulated(Order::interleaved, shape).seconds,
              simulated(Order::one_forward_one_backward, shape).seconds + kExact)
        << described(Order::interleaved, shape);
  }
}

TEST(Orders, ZeroBubbleFollowsTheTimes) {
  PipelineShape shape = one_stage_each(4, 12);
  shape.times = {{1, 0.5, 2}, {1, 2, 0.5}, {0.5, 1, 1}, {2, 1, 1}};
  PipelineShape untimed = one_stage_each(4, 12);
  const Sequence for_others = chained(Order::zero_bubble, untimed);
  EXPECT_LE(simulated(Order::zero_bubble, shape).seconds, simulate(for_others, shape, chain_of(4)).seconds);
  for (const Order order : {Order::gpipe, Order::one_forward_one_backward}) {
    EXPECT_EQ(queues_of(chained(order, shape), shape), queues_of(chained(order, untimed), untimed)) << name_of(order);
  }
}

TEST(Orders, ABackwardWithoutWeightSlotTakesBoth) {
  PipelineShape shape = one_stage_each(1, 2);
  shape.times = {{1, 2, 4}};
  EXPECT_NEAR(simulated(Order::gpipe, shape).seconds, 14, kExact);
  EXPECT_NEAR(simulated(Order::zero_bubble, shape).seconds, 14, kExact);
  EXPECT_EQ(simulated(Order::gpipe, shape).slots[2].end, 2 + 6);
  EXPECT_EQ(simulated(Order::gpipe, shape).idle, std::vector<double>{0});
}

TEST(Orders, ForwardsAlone) {
  for (PipelineShape shape : pipelines()) {
    shape.forward_only = true;
    for (const Order order : kOrders) {
      const Sequence sequence = make_sequence(order, shape, with_skips(shape.stages()));
      EXPECT_EQ(static_cast<int64_t>(sequence.size()), shape.stages() * shape.micro_batches);
      EXPECT_NO_THROW(check(sequence, shape, with_skips(shape.stages())));
      EXPECT_EQ(parse_sequence(print(sequence, shape), shape, with_skips(shape.stages())), sequence);
    }
    if (shape.group_count() == shape.stages()) {
      const double seconds = simulate(chained(Order::gpipe, shape), shape, chain_of(shape.stages())).seconds;
      EXPECT_NEAR(seconds, static_cast<double>(shape.micro_batches + shape.stages() - 1), kExact);
    }
  }
}

TEST(Orders, ManyStagesAndMicroBatchesTakeLittleTime) {
  for (const auto& shape : {chunks_on(16, 32, 1000), one_stage_each(1000, 32), chunks_on(1, 64, 500)}) {
    for (const Order order : kOrders) {
      const auto begin = std::chrono::steady_clock::now();
      const auto dependencies = chain_of(shape.stages());
      const Sequence sequence = make_sequence(order, shape, dependencies);
      const std::string text = print(sequence, shape);
      EXPECT_EQ(parse_sequence(text, shape, dependencies), sequence);
      EXPECT_FALSE(draw(sequence, shape, dependencies).empty());
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
      EXPECT_LT(seconds.count(), 10) << name_of(order) << ": 0.1 to 0.4 s where nothing else runs";
    }
  }
}

}  // namespace
}  // namespace partita
