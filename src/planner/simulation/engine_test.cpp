#include "planner/simulation/engine.h"

#include <gtest/gtest.h>

#include <random>

#include "base/error.h"
#include "ir/orders/section_graph.h"
#include "ir/orders/simulate.h"

namespace partita {
namespace {

constexpr TaskQueue kCommunicate = TaskQueue::communicate, kTransfer = TaskQueue::transfer;

TEST(SimulateEngine, AQueueRunsOneTaskAtATimeAndQueuesRunConcurrently) {
  TaskGraph graph;
  const int a = graph.add({.seconds = 2}), b = graph.add({.seconds = 3});
  const int message = graph.add({.queue = kCommunicate, .seconds = 4});
  graph.need(message, a);
  const int c = graph.add({.seconds = 1});
  graph.need(c, message);
  const int other = graph.add({.group = 1, .seconds = 10});
  const std::vector<TimedTask> times = run(graph, {});
  EXPECT_EQ(times[a].end, 2);
  EXPECT_EQ(times[b].begin, 2);
  EXPECT_EQ(times[message].begin, 2);
  EXPECT_EQ(times[message].end, 6);
  EXPECT_EQ(times[c].free, 5);
  EXPECT_EQ(times[c].begin, 6);
  EXPECT_EQ(times[c].end, 7);
  EXPECT_EQ(times[other].end, 10);
}

// A message of 4 seconds overlaps a computation of 5, which does 2 seconds of work at half its rate and then 3.
TEST(SimulateEngine, WhatIsComputedDuringAMessageOfTheGroupTakesLonger) {
  TaskGraph graph;
  const int compute = graph.add({.seconds = 5}), next = graph.add({.seconds = 1});
  const int message = graph.add({.queue = kTransfer, .seconds = 4});
  const int other = graph.add({.group = 1, .seconds = 5});
  const std::vector<TimedTask> times = run(graph, {.overlap_slowdown = 2});
  EXPECT_EQ(times[message].end, 4);
  EXPECT_EQ(times[compute].end, 7);
  EXPECT_EQ(times[next].end, 8);
  EXPECT_EQ(times[other].end, 5);
}

// Four ranks share two cores until one of two groups is done.
TEST(SimulateEngine, TasksShareCores) {
  TaskGraph graph;
  const int shorter = graph.add({.seconds = 1, .cores = 2}), next = graph.add({.seconds = 2, .cores = 1});
  const int longer = graph.add({.group = 1, .seconds = 3, .cores = 2});
  const std::vector<TimedTask> times = run(graph, {.cores = 2});
  EXPECT_DOUBLE_EQ(times[shorter].end, 2);  // each at half its rate
  EXPECT_DOUBLE_EQ(times[next].end, 5);     // three ranks on two cores: two thirds
  EXPECT_DOUBLE_EQ(times[longer].end, 5);
}

// While both cores are busy, each has 0.8 of its speed: 1 second of work on both takes 1.25, then one continues alone.
TEST(SimulateEngine, CoresAreSlowerWhileOthersWork) {
  TaskGraph graph;
  const int shorter = graph.add({.seconds = 1, .cores = 1}), longer = graph.add({.group = 1, .seconds = 2, .cores = 1});
  const std::vector<TimedTask> times = run(graph, {.cores = 2, .busy_share = 0.8});
  EXPECT_DOUBLE_EQ(times[shorter].end, 1.25);
  EXPECT_DOUBLE_EQ(times[longer].end, 2.25);
}

TEST(SimulateEngine, TasksThatWaitForOneAnotherAreAnError) {
  TaskGraph graph;
  const int first = graph.add({.seconds = 1}), second = graph.add({.seconds = 1});
  graph.need(first, second);
  EXPECT_THROW(run(graph, {}), InternalError);
}

/// Simulates a sequence with one task per slot.
std::vector<TimedTask> run_sequence(const Sequence& sequence, const PipelineShape& shape,
                                    const std::vector<Dependency>& dependencies, bool has_weight) {
  const SectionGraph sections(shape, dependencies, has_weight);
  TaskGraph graph;
  std::vector<int> tasks(static_cast<size_t>(sections.slots()));
  for (const Slot& slot : sequence) {
    tasks[static_cast<size_t>(sections.number(slot))] =
        graph.add({.group = sections.group_of(slot.stage),
                   .seconds = sections.seconds(sections.section(slot.stage, slot.section))});
  }
  for (const Slot& slot : sequence) {
    const int section = sections.section(slot.stage, slot.section);
    for (const int need : sections.needs(section)) {
      graph.need(tasks[static_cast<size_t>(sections.number(slot))],
                 tasks[static_cast<size_t>(need * shape.micro_batches + slot.micro_batch)]);
    }
  }
  return run(graph, {.overlap_slowdown = 3});
}

std::vector<PipelineShape> simulated_pipelines() {
  std::vector<PipelineShape> shapes;
  for (const int64_t micro_batches : {1, 2, 3, 5, 8}) {
    for (const std::vector<int>& groups : std::vector<std::vector<int>>{
             {0}, {0, 1}, {0, 1, 2, 3}, {0, 1, 0, 1}, {0, 1, 1, 0}, {0, 0, 1, 0, 2}, {0, 1, 2, 0, 1, 2}}) {
      shapes.push_back({groups, micro_batches});
    }
  }
  return shapes;
}

// Every order of many pipelines, under equal and under random times.
TEST(SimulateEngine, WithoutCommunicationItEqualsTheSimulationOfOrders) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> seconds(0.1, 3);
  int64_t compared = 0;
  for (PipelineShape shape : simulated_pipelines()) {
    for (const bool equal : {true, false}) {
      shape.times.clear();
      for (int s = 0; s < shape.stages() && !equal; ++s)
        shape.times.push_back({seconds(random), seconds(random), seconds(random)});
      for (const Order order :
           {Order::gpipe, Order::one_forward_one_backward, Order::interleaved, Order::zero_bubble}) {
        std::vector<Dependency> dependencies = chain_of(shape.stages());
        if (shape.stages() > 2)  // a skip over stages
          dependencies.push_back({0, StageSection::forward, shape.stages() - 1, StageSection::backward});
        const Sequence sequence = make_sequence(order, shape, dependencies);
        const Simulation expected = simulate(sequence, shape, dependencies);
        const std::vector<TimedTask> times =
            run_sequence(sequence_of(expected), shape, dependencies, order == Order::zero_bubble);
        ASSERT_EQ(times.size(), expected.slots.size());
        for (size_t i = 0; i < times.size(); ++i) {
          ASSERT_NEAR(times[i].begin, expected.slots[i].start, 1e-9);
          ASSERT_NEAR(times[i].end, expected.slots[i].end, 1e-9);
        }
        ++compared;
      }
    }
  }
  EXPECT_EQ(compared, 5 * 7 * 2 * 4);
}

}  // namespace
}  // namespace partita
