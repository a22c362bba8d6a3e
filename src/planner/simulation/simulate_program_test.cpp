#include "planner/simulation/simulate_program.h"

#include <gtest/gtest.h>

#include <set>

#include "ir/ops/registry.h"
#include "ir/orders/simulate.h"
#include "planner/cluster/presets.h"
#include "planner/simulation/program_tasks.h"
#include "runtime/launch/place.h"
#include "zoo/zoo_job.h"

namespace partita {
namespace {

struct Training {
  std::string model = "gpt:layers=4,hidden=32,heads=4,seq=16,vocab=64";
  int64_t ranks = 1, stages = 1, interleave = 1, micro_batches = 1, zero = 0;
  Order order = Order::one_forward_one_backward;
};

Program program_of(const Training& training) {
  JobConfig config = configured(training.model, {});
  config.training.batch = 16;
  config.ranks.count = training.ranks;
  config.ranks.threads = 1;
  config.plan.options.micro_batches = training.micro_batches;
  config.plan.options.zero.level = training.zero;
  config.plan.options.pipeline.stages = training.stages;
  config.plan.options.pipeline.interleave = training.interleave;
  config.plan.options.pipeline.order = training.order;
  return ZooJob(config, Place{}).program(Purpose::training);
}

/// Prices under which all instructions and messages take no time.
StepPrices free_prices(const Program& program) {
  StepPrices prices;
  for (const StageProgram& stage : program.stages)
    prices.instructions.emplace_back(stage.schedule.instructions.size(), 0.0);
  prices.transfers.resize(program.pipeline.transfers.size());
  return prices;
}

Section section_of(StageSection part) {
  return part == StageSection::forward    ? Section::micro
         : part == StageSection::backward ? Section::backward
                                          : Section::weight;
}

SimulatedStep simulated(const Program& program, const StepPrices& prices, const SimulationOptions& options = {}) {
  return simulate_program(program.pipeline, program.stages, prices, options);
}

std::vector<Training> pipelines_of(Order order) {
  std::vector<Training> all;
  for (const int64_t micro_batches : {1, 2, 4, 8}) {
    all.push_back({.ranks = 2, .stages = 2, .micro_batches = micro_batches, .order = order});
    all.push_back({.ranks = 4, .stages = 4, .micro_batches = micro_batches, .order = order});
    all.push_back({.ranks = 4, .stages = 2, .micro_batches = micro_batches, .order = order});
    all.push_back({.ranks = 2, .stages = 4, .interleave = 2, .micro_batches = micro_batches, .order = order});
  }
  return all;
}

/// An instruction of a section after all its receives and before all its sends; none if the section is empty.
std::optional<size_t> kernel_of(const Program& program, size_t stage, Section section) {
  const Schedule& schedule = program.stages[stage].schedule;
  if (schedule.begin(section) == schedule.end(section)) return std::nullopt;
  const auto reads = transfers_read(program.pipeline, program.stages, static_cast<int>(stage));
  size_t at = schedule.begin(section);
  for (size_t i = at; i < schedule.end(section); ++i) {
    if (!reads[i].empty() || !computes(schedule.instructions[at], program.stages[stage].local)) at = i;
  }
  return at;
}

// The computation of a section takes one second, or two if the backward pass includes the gradients of weights. Nothing
// else takes time.
TEST(SimulateProgram, WithoutCommunicationItEqualsTheSimulationOfTheOrder) {
  for (const Order order : {Order::gpipe, Order::one_forward_one_backward, Order::interleaved, Order::zero_bubble}) {
    for (const Training& training : pipelines_of(order)) {
      SCOPED_TRACE(fmt::format("{}, {} stages of {} ranks, {} micro-batches", name_of(order), training.stages,
                               training.ranks, training.micro_batches));
      const Program program = program_of(training);
      StepPrices prices = free_prices(program);
      PipelineShape shape = program.pipeline.shape;
      shape.times.assign(program.stages.size(), {});
      for (size_t s = 0; s < program.stages.size(); ++s) {
        const auto set = [&](Section section, double& time, double seconds) {
          if (const auto kernel = kernel_of(program, s, section)) time = prices.instructions[s][*kernel] = seconds;
        };
        set(Section::micro, shape.times[s].forward, 1);
        set(Section::backward, shape.times[s].backward, order == Order::zero_bubble ? 1 : 2);
        set(Section::weight, shape.times[s].weight, 1);
      }
      const Simulation expected =
          simulate(program.pipeline.sequence, shape, dependencies_of(program.pipeline.transfers));
      const SimulatedStep step = simulated(program, prices, {.spans = true});
      EXPECT_DOUBLE_EQ(step.seconds, expected.seconds);
      ASSERT_EQ(step.groups.size(), expected.idle.size());
      for (size_t group = 0; group < step.groups.size(); ++group) {
        EXPECT_DOUBLE_EQ(step.groups[group].bubble, expected.idle[group]);
        for (const auto& [kind, seconds] : step.groups[group].exposed) EXPECT_EQ(seconds, 0) << name_of(kind);
      }
      for (const TimedSlot& slot : expected.slots) {  // each has its span
        const Section section = section_of(slot.slot.section);
        if (slot.start == slot.end) continue;
        const auto& spans = step.groups[static_cast<size_t>(shape.groups[static_cast<size_t>(slot.slot.stage)])].spans;
        const auto found = std::ranges::find_if(spans, [&](const PredictedSpan& span) {
          return span.kind == PredictedSpan::section && span.stage == slot.slot.stage &&
                 span.micro_batch == slot.slot.micro_batch && span.index == static_cast<size_t>(section);
        });
        ASSERT_NE(found, spans.end()) << long_name(slot.slot);
        EXPECT_DOUBLE_EQ(found->end, slot.end) << long_name(slot.slot);
      }
    }
  }
}

/// Expects that the seconds of each group add up to the step.
void expect_whole(const SimulatedStep& step) {
  for (const SimulatedGroup& group : step.groups) {
    double sum = group.compute + group.bubble + step.overhead;
    for (const auto& [kind, seconds] : group.exposed) sum += seconds;
    EXPECT_NEAR(sum, step.seconds, 1e-9 * step.seconds);
  }
}

size_t index_of(const Schedule& schedule, Instruction::Kind kind, size_t from = 0) {
  while (from < schedule.instructions.size() && schedule.instructions[from].kind != kind) ++from;
  return from;
}

// A bucket starts after one second and takes three. It overlaps kernels of two seconds, which take twice as long
// meanwhile: 1 + 3 + (2 - 3 / 2) seconds of compute, and nothing is exposed. If it takes ten seconds, 10 - 4 are
// exposed.
TEST(SimulateProgram, BucketsOverlapTheBackward) {
  const Program program = program_of({.model = "gpt:layers=4,hidden=256,heads=4,seq=16,vocab=64", .ranks = 2});
  const Schedule& schedule = program.schedule();
  const size_t start = index_of(schedule, Instruction::start), wait = index_of(schedule, Instruction::wait, start);
  ASSERT_LT(start, wait);
  const size_t kernel = index_of(schedule, Instruction::compute, start),
               first = index_of(schedule, Instruction::compute);
  ASSERT_LT(kernel, wait);
  ASSERT_LT(first, start);
  StepPrices prices = free_prices(program);
  prices.overlap_slowdown = 2;
  prices.overhead = 0.25;
  prices.instructions[0][first] = 1;
  prices.instructions[0][start] = 3;
  prices.instructions[0][kernel] = 2;
  const SimulatedStep hidden = simulated(program, prices);
  EXPECT_DOUBLE_EQ(hidden.seconds, 1 + 3 + 0.5 + 0.25);
  EXPECT_DOUBLE_EQ(hidden.groups[0].compute, 4.5);
  expect_whole(hidden);
  prices.instructions[0][start] = 10;
  const SimulatedStep exposed = simulated(program, prices, {.spans = true});
  EXPECT_DOUBLE_EQ(exposed.seconds, 1 + 10 + 0.25);
  EXPECT_DOUBLE_EQ(exposed.groups[0].exposed.at(Collective::all_reduce), 6);
  expect_whole(exposed);
  const auto& spans = exposed.groups[0].spans;
  const auto message = std::ranges::find_if(spans, [](const auto& span) { return span.thread == 1; });
  ASSERT_NE(message, spans.end());
  EXPECT_DOUBLE_EQ(message->begin, 1);
  EXPECT_DOUBLE_EQ(message->end, 11);
}

// Two stages and one micro-batch; each stage takes 1 forward and 2 backward, and each direction waits 0.5 for a
// message.
TEST(SimulateProgram, TransfersAreWaitedFor) {
  const Program program = program_of({.model = "mlp:layers=3,hidden=16", .ranks = 2, .stages = 2});
  StepPrices prices = free_prices(program);
  for (size_t s = 0; s < 2; ++s) {
    prices.instructions[s][*kernel_of(program, s, Section::micro)] = 1;
    prices.instructions[s][*kernel_of(program, s, Section::backward)] = 2;
  }
  std::set<int> to;  // one message to each stage
  for (size_t t = 0; t < prices.transfers.size(); ++t) {
    const Transfer& transfer = program.pipeline.transfers[t];
    if (!transfer.in_micro_batches() || transfer.verdict) continue;
    const Section section = transfer.to_stage == 1 ? Section::micro : Section::backward;
    if (transfer.first == section && to.insert(transfer.to_stage).second) prices.transfers[t].message = 0.5;
  }
  ASSERT_EQ(to.size(), 2);
  const SimulatedStep on_links = simulated(program, prices);
  EXPECT_DOUBLE_EQ(on_links.seconds, 1 + 0.5 + 1 + 2 + 0.5 + 2);
  EXPECT_DOUBLE_EQ(on_links.groups[0].exposed.at(Collective::send), 0.5);
  EXPECT_DOUBLE_EQ(on_links.groups[1].exposed.at(Collective::send), 0.5);
  EXPECT_DOUBLE_EQ(on_links.groups[0].bubble, 3.5);
  expect_whole(on_links);
  for (TransferPrice& price : prices.transfers) price = {.send = price.message, .receive = price.message / 2};
  const SimulatedStep by_ranks = simulated(program, prices);
  EXPECT_DOUBLE_EQ(by_ranks.seconds, 1 + 0.75 + 1 + 2 + 0.75 + 2);
  expect_whole(by_ranks);
}

TEST(SimulateProgram, RanksTakeTurnsOnCores) {
  const Program program = program_of({.ranks = 4});
  StepPrices prices = free_prices(program);
  prices.instructions[0][index_of(program.schedule(), Instruction::compute)] = 1;
  prices.cores = 2;
  EXPECT_DOUBLE_EQ(simulated(program, prices).seconds, 2);
  prices.cores = 4;
  EXPECT_DOUBLE_EQ(simulated(program, prices).seconds, 1);
}

// On several presets: every group computes, the parts add up, live memory fits into the arena and returns to its begin,
// and spans lie within the step.
TEST(SimulateProgram, PricesOfClustersAndMemoryOverTime) {
  for (const char* cluster : {"cpu", "a100-80", "h100"}) {
    for (const Training& training :
         {Training{.ranks = 1}, Training{.ranks = 4, .micro_batches = 2}, Training{.ranks = 4, .zero = 3},
          Training{.ranks = 4, .stages = 2, .micro_batches = 4},
          Training{.ranks = 2, .stages = 4, .interleave = 2, .micro_batches = 4, .order = Order::zero_bubble}}) {
      const Program program = program_of(training);
      const StepPrices prices = prices_of(program.pipeline, program.stages, all_ops(), cluster_named(cluster));
      const SimulatedStep step = simulated(program, prices, {.spans = true, .memory = true});
      expect_whole(step);
      EXPECT_LT(step.bubble(), 1);
      for (size_t g = 0; g < step.groups.size(); ++g) {
        const SimulatedGroup& group = step.groups[g];
        EXPECT_GT(group.compute, 0);
        ASSERT_GT(group.memory.size(), 3);
        double most = 0, at = 0;
        for (const MemoryPoint& point : group.memory) {
          most = std::max(most, point.bytes);
          EXPECT_GE(point.seconds, at);
          at = point.seconds;
        }
        EXPECT_LE(most, group.peak_bytes) << training.ranks << " ranks, " << training.stages << " stages";
        EXPECT_GE(most, 0.5 * group.peak_bytes);
        EXPECT_NEAR(group.memory.back().bytes, group.memory.front().bytes, 0.02 * group.peak_bytes);
        EXPECT_LE(at, step.seconds);
        for (const PredictedSpan& span : group.spans) {
          EXPECT_GE(span.begin, 0);
          EXPECT_LE(span.begin, span.end);
          EXPECT_LE(span.end, step.seconds + 1e-12);
        }
      }
    }
  }
}

// The views of a perceptron have no instruction, so only nodes that run are priced.
TEST(SimulateProgram, ViewsAreFree) {
  const Program program = program_of({.model = "mlp"});
  const StepPrices prices = prices_of(program.pipeline, program.stages, all_ops(), cluster_named("cpu"));
  const Schedule& schedule = program.schedule();
  double sum = prices.overhead;
  for (size_t i = 0; i < schedule.instructions.size(); ++i) {
    const Instruction& instruction = schedule.instructions[i];
    EXPECT_EQ(prices.instructions[0][i] > 0, instruction.kind != Instruction::wait);
    EXPECT_NE(program.local().graph.nodes[static_cast<size_t>(instruction.node)].op, "reshape");
    sum += prices.instructions[0][i];
  }
  EXPECT_NEAR(simulated(program, prices).seconds, sum, 1e-12);
}

}  // namespace
}  // namespace partita
