// Values that a stage receives: where it waits for them.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "compiler/schedule/timeline.h"
#include "ir/ops/registry.h"
#include "support/job.h"
#include "support/ranks.h"

namespace partita {
namespace {

/// The first instruction of a stage that reads each value that it receives, by transfer.
std::map<size_t, size_t> first_readers(const Program& program, int stage) {
  const Schedule& schedule = program.stages[static_cast<size_t>(stage)].schedule;
  const std::vector<int> roots = roots_of(schedule);
  std::map<size_t, size_t> found;
  for (size_t t = 0; t < program.pipeline.transfers.size(); ++t) {
    const Transfer& transfer = program.pipeline.transfers[t];
    if (transfer.to_stage != stage) continue;
    const int place = roots[schedule.inputs[transfer.input]];
    for (size_t i = 0; i < schedule.instructions.size() && !found.contains(t); ++i) {
      const auto& inputs = schedule.instructions[i].inputs;
      if (std::ranges::any_of(inputs, [&](int buffer) { return roots[buffer] == place; })) found.emplace(t, i);
    }
  }
  return found;
}

/// Checks that each received value is waited for once, no later than it is read, and earlier only if it is sent before
/// the first micro-batch and read after the stage's own values of that kind are made.
void expect_waits(const Program& program, const std::string& what) {
  for (int stage = 0; stage < static_cast<int>(program.stages.size()); ++stage) {
    const Schedule& schedule = program.stages[static_cast<size_t>(stage)].schedule;
    std::map<size_t, size_t> waits;
    const auto reads = transfers_read(program.pipeline, program.stages, stage);
    for (size_t i = 0; i < reads.size(); ++i) {
      for (const size_t t : reads[i]) EXPECT_TRUE(waits.emplace(t, i).second) << what << ": transfer " << t << " twice";
    }
    std::map<size_t, size_t> expected = first_readers(program, stage);
    for (auto& [t, reader] : expected) {
      const Transfer& transfer = program.pipeline.transfers[t];
      const Section section = schedule.section_of(reader);
      const bool comes_early = transfer.sent == Section::once && !transfer.verdict && section != Section::once;
      if (comes_early) reader = schedule.begin(section);
    }
    EXPECT_EQ(waits, expected) << what << ", stage " << stage;
  }
}

TEST(ReceivedValues, AreWaitedForWhereTheyAreReadFirst) {
  for (const std::string spec : {"mlp:layers=3,hidden=6,dropout=0.2", "gpt:layers=4,hidden=4,heads=2,seq=3,vocab=12",
                                 "moe:layers=4,hidden=4,heads=2,seq=4,vocab=12,experts=2"}) {
    for (const Order order : {Order::one_forward_one_backward, Order::interleaved, Order::zero_bubble}) {
      Job job = model_job(spec, {.image = {1, 3, 2}, .batch = 12, .steps = 1});
      job.training.optimizer.clip_norm = 0.1;
      job.ranks = 2;
      job.micro_batches = 3;
      job.pipeline.order = order;
      job.pipeline.interleave = order == Order::interleaved ? 2 : 1;
      job.pipeline.stages = 2 * job.pipeline.interleave;
      expect_waits(compile_job(job), fmt::format("{}, {}", spec, name_of(order)));
    }
  }
}

// A penalty that each stage continues: what depends on states alone goes up the stages, and its gradient down, before
// the first micro-batch.
constexpr std::string_view kPenalty = R"(partita graph 1
graph penalty
input %x: f64[8,4] batch=0
state %u: f64[4,4] parameter normal(0,1)
state %v: f64[4,4] parameter normal(0,1)
state %w: f64[4,4] parameter normal(0,1)
%a = matmul(%x, %u) : f64[8,4] ; stage=0
%p = square(%u) : f64[4,4] ; stage=0
%p0 = reduce(%p) {axes=[0,1]} : f64[] ; stage=0
%b = matmul(%a, %v) : f64[8,4] ; stage=1
%q = square(%v) : f64[4,4] ; stage=1
%q0 = reduce(%q) {axes=[0,1]} : f64[] ; stage=1
%q1 = sqrt(%p0) : f64[] ; stage=1
%q2 = add(%q0, %q1) : f64[] ; stage=1
%c = matmul(%b, %w) : f64[8,4] ; stage=2
%r = square(%w) : f64[4,4] ; stage=2
%r0 = reduce(%r) {axes=[0,1]} : f64[] ; stage=2
%r1 = sqrt(%q2) : f64[] ; stage=2
%r2 = add(%r0, %r1) : f64[] ; stage=2
%s = square(%c) : f64[8,4] ; stage=2
%t = reduce(%s) {axes=[0,1], scale=0.125} : f64[] ; stage=2
%loss = add(%t, %r2) : f64[] ; stage=2
output loss = %loss
)";

TEST(ReceivedValues, ThatDependOnStatesAloneMayGoBothWays) {
  Job job;
  job.forward = parse_graph(std::string(kPenalty), all_ops());
  job.training.optimizer = {.kind = OptimizerKind::sgd};
  job.states = initial_states(job.forward, 3);
  job.learning_rate = 0.001;
  job.steps = 3;
  job.batch = [](int step) {
    Arrays batch;
    batch.emplace("x", random_array({DType::f64, {8, 4}}, static_cast<uint64_t>(step)));
    return batch;
  };
  const JobResult oracle = interpret_job(job);
  if (!can_run(3)) GTEST_SKIP() << "too few processes";
  job.ranks = 3;
  job.pipeline.stages = 3;
  for (const int64_t count : {1, 2, 4}) {
    job.micro_batches = count;
    expect_waits(compile_job(job), fmt::format("{} micro-batches", count));
    expect_same_training(run_job(job), oracle, 1e-9, fmt::format("{} micro-batches", count));
  }
}

}  // namespace
}  // namespace partita
