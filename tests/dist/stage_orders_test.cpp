// Orders of stages that run: all of them over stages and micro-batches, with the copies that they are known for; and
// orders that were edited, which are refused or give the same numbers.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "compiler/schedule/timeline.h"
#include "ir/ops/registry.h"
#include "ir/orders/check.h"
#include "support/job.h"
#include "support/random_plan.h"
#include "support/ranks.h"

namespace partita {
namespace {

constexpr Order kEveryOrder[] = {Order::gpipe, Order::one_forward_one_backward, Order::interleaved, Order::zero_bubble};

// Tied embeddings, and a clipped gradient.
Job order_job(const std::string& spec, int64_t batch) {
  Job job = model_job(spec, {.image = {1, 3, 2}, .batch = batch, .steps = 2});
  job.training.output_gradients = false;
  return job;
}

/// Checks the copies in flight of a chain of stages, each with ranks of its own.
void expect_known_copies(const Program& program, Order order, const std::string& what) {
  const auto stages = static_cast<int64_t>(program.stages.size());
  const int64_t count = program.pipeline.shape.micro_batches;
  for (int64_t stage = 0; stage < stages; ++stage) {
    const InFlight in_flight =
        in_flight_of(program.pipeline, static_cast<int>(stage), program.stages[static_cast<size_t>(stage)].local);
    const int64_t most = order == Order::gpipe ? count : std::min(count, stages - stage);
    EXPECT_EQ(in_flight.micro_to_backward, most) << what << ", stage " << stage;
    if (order != Order::zero_bubble) continue;
    EXPECT_LE(in_flight.micro_to_weight, std::min(count, stages)) << what << ", stage " << stage;
  }
}

TEST(StageOrders, RunOnAllStagesAndMicroBatches) {
  for (const std::string spec : {"mlp:layers=3,hidden=6,dropout=0.2", "gpt:layers=2,hidden=4,heads=2,seq=3,vocab=12"}) {
    std::map<int64_t, std::pair<Job, JobResult>> oracles;  // by batch
    for (const int64_t count : {1, 2, 3, 4, 8, 13}) {
      const int64_t batch = count == 13 ? 13 : 24;
      if (!oracles.contains(batch)) {
        Job job = order_job(spec, batch);
        JobResult oracle = interpret_job(job);
        oracles.emplace(batch, std::pair(std::move(job), std::move(oracle)));
      }
      auto& [job, oracle] = oracles.at(batch);
      for (const int stages : {2, 3, 4}) {
        if (!can_run(stages)) continue;
        for (const Order order : kEveryOrder) {
          job.ranks = stages;
          job.micro_batches = count;
          job.pipeline = {.stages = stages, .order = order};
          const std::string what =
              fmt::format("{}, {} stages, {} micro-batches, {}", spec, stages, count, name_of(order));
          const JobResult result = run_job(job);
          expect_same_training(result, oracle, 1e-9, what);
          expect_known_copies(result.program, order, what);
        }
      }
    }
  }
}

/// A few slots that change their places, or are others.
Sequence edited_sequence(Sequence sequence, int stages, int64_t micro_batches, Dice& dice) {
  const auto place = [&] { return static_cast<size_t>(dice.below(static_cast<int64_t>(sequence.size()))); };
  for (int64_t edits = 1 + dice.below(4); edits > 0 && sequence.size() > 1; --edits) {
    const size_t at = place();
    switch (dice.below(12)) {
      case 0: sequence.erase(sequence.begin() + static_cast<std::ptrdiff_t>(at)); break;
      case 1: sequence.insert(sequence.begin() + static_cast<std::ptrdiff_t>(at), sequence[place()]); break;
      case 2: sequence[at].micro_batch = dice.below(micro_batches + 2) - 1; break;
      case 3: sequence[at].stage = static_cast<int>(dice.below(stages + 2) - 1); break;
      case 4: sequence[at].section = static_cast<StageSection>(dice.below(kStageSections)); break;
      case 5:
      case 6: {  // far away
        const size_t to = place();
        std::rotate(sequence.begin() + static_cast<std::ptrdiff_t>(std::min(at, to)),
                    sequence.begin() + static_cast<std::ptrdiff_t>(std::min(at, to) + 1),
                    sequence.begin() + static_cast<std::ptrdiff_t>(std::max(at, to) + 1));
        break;
      }
      case 7: std::swap(sequence[at], sequence[place()]); break;
      default: std::swap(sequence[at], sequence[std::min(at + 1, sequence.size() - 1)]);  // its neighbour
    }
  }
  return sequence;
}

struct EditedCase {
  std::string spec;
  int stages, ranks;
  int64_t interleave;
  Order order;
};

const std::vector<EditedCase>& edited_cases() {
  static const std::vector<EditedCase> all{
      {"mlp:layers=3,hidden=6", 4, 4, 1, Order::one_forward_one_backward},
      {"mlp:layers=3,hidden=6", 4, 2, 2, Order::interleaved},
      {"gpt:layers=2,hidden=4,heads=2,seq=3,vocab=12", 3, 3, 1, Order::zero_bubble},
      {"gpt:layers=2,hidden=4,heads=2,seq=3,vocab=12", 2, 1, 2, Order::gpipe},
  };
  return all;
}

Job job_of_edited(const EditedCase& one) {
  Job job = order_job(one.spec, 8);
  job.ranks = one.ranks;
  job.micro_batches = 4;
  job.pipeline = {.stages = one.stages, .order = one.order, .interleave = one.interleave};
  return job;
}

/// "" or how the pipeline is refused.
std::string refusal_of_pipeline(const Pipeline& pipeline, const std::vector<StageProgram>& stages) {
  try {
    verify(pipeline, stages);
  } catch (const InvalidArgument& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with("[s")) << error.what();
    return error.what();
  }
  return "";
}

/// The program with schedules that keep what the sequence has in flight.
Program scheduled_for(Program program, const Sequence& sequence) {
  const auto device = make_cpu_device(all_ops(), 1, KernelSet::reference);
  program.pipeline.sequence = sequence;
  Pipeline ordered = program.pipeline;
  ordered.sequence = in_order_of_time(sequence, ordered.shape, dependencies_of(ordered.transfers));
  for (size_t stage = 0; stage < program.stages.size(); ++stage) {
    const LocalGraph& local = program.stages[stage].local;
    program.stages[stage].schedule =
        make_schedule(local, all_ops(), device->catalog(), {}, in_flight_of(ordered, static_cast<int>(stage), local));
  }
  return program;
}

// Whoever hangs is ended by the alarm.
TEST(StageOrders, EditedSequencesAreRefusedOrRun) {
  constexpr int kEdits = 2500, kRuns = 60;  // per case
  int refused = 0, accepted = 0, fitting = 0;
  ::alarm(300);
  for (const EditedCase& one : edited_cases()) {
    if (!can_run(one.ranks)) continue;
    Job job = job_of_edited(one);
    const JobResult oracle = interpret_job(job);
    const Program program = compile_job(job);
    Dice dice(static_cast<uint64_t>(one.stages * 10 + one.ranks));
    int runs = 0;
    for (int edit = 0; edit < kEdits; ++edit) {
      const Sequence sequence =
          edited_sequence(program.pipeline.sequence, one.stages, program.pipeline.shape.micro_batches, dice);
      const std::string what = fmt::format("{}, {} stages, edit {}", one.spec, one.stages, edit);
      Pipeline pipeline = program.pipeline;
      pipeline.sequence = sequence;
      const std::string refusal = refusal_of_pipeline(pipeline, program.stages);
      if (!refusal.empty() && !refusal.starts_with("[schedule] a stage keeps fewer copies")) {
        ++refused;
        continue;
      }
      ++accepted;
      if (refusal.empty()) ++fitting;
      if (runs == kRuns || sequence == program.pipeline.sequence) continue;
      ++runs;
      Program edited = refusal.empty() ? program : scheduled_for(program, sequence);
      edited.pipeline.sequence = sequence;
      EXPECT_EQ(refusal_of_pipeline(edited.pipeline, edited.stages), "") << what;
      expect_same_training(run_job(job, std::move(edited)), oracle, 1e-9, what);
    }
    EXPECT_EQ(runs, kRuns) << one.spec;
  }
  ::alarm(0);
  if (ranks_are_processes()) return;
  EXPECT_GT(refused, 1000);
  EXPECT_GT(accepted, 1000);
  EXPECT_GT(fitting, 100);
  EXPECT_LT(fitting, accepted);
}

TEST(StageOrders, SchedulesKeepWhatTheirOrderHasInFlight) {
  const EditedCase one{"mlp:layers=3,hidden=6", 2, 2, 1, Order::one_forward_one_backward};
  Job job = job_of_edited(one);
  const Program program = compile_job(job);
  job.pipeline.order = Order::gpipe;
  Pipeline pipeline = compile_job(job).pipeline;
  const std::string refusal = refusal_of_pipeline(pipeline, program.stages);
  EXPECT_TRUE(refusal.starts_with("[schedule] a stage keeps fewer copies than its order has in flight, got 1 of %"))
      << refusal;
  EXPECT_NE(refusal.find(" on stage 0, expected 2, or the order that the schedule was made for"), std::string::npos)
      << refusal;
  job.pipeline.order = Order::zero_bubble;
  pipeline = compile_job(job).pipeline;
  EXPECT_EQ(refusal_of_pipeline(pipeline, program.stages),
            "[sequence] weight slots do not fit the stages, got some, expected none");
  // The input of a stage alone, which its sender overwrites otherwise.
  std::vector<StageProgram> stages = program.stages;
  for (size_t i = 0; i < stages[1].local.graph.inputs.size(); ++i) {
    if (stages[1].local.graph.inputs[i].from_stage == 0)
      stages[1].schedule.buffers[stages[1].schedule.inputs[i]].copies = 1;
  }
  EXPECT_TRUE(refusal_of_pipeline(program.pipeline, stages)
                  .ends_with("on stage 1, expected 2, or the order that the schedule was made for"))
      << refusal_of_pipeline(program.pipeline, stages);
}

TEST(StageOrders, CyclesAreNamed) {
  const Program program =
      compile_job(job_of_edited({"mlp:layers=3,hidden=6", 2, 2, 1, Order::one_forward_one_backward}));
  Pipeline pipeline = program.pipeline;
  const auto place_of = [&](const Slot& slot) {
    return std::find(pipeline.sequence.begin(), pipeline.sequence.end(), slot);
  };
  // Stage 0 waits for a gradient before it makes the activation that stage 1 takes first.
  std::iter_swap(place_of({0, StageSection::forward, 3}), place_of({0, StageSection::backward, 2}));
  std::iter_swap(place_of({1, StageSection::backward, 2}), place_of({1, StageSection::forward, 3}));
  EXPECT_EQ(refusal_of_pipeline(pipeline, program.stages),
            "[sequence] the order deadlocks, got stage 0 B2 waits for stage 1 B2, which comes after stage 1 F3, which "
            "waits for stage 0 F3, which comes after stage 0 B2, expected no cycle");
}

}  // namespace
}  // namespace partita
