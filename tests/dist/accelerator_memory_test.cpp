// Values on an accelerator are there as long as somebody reads them, also in steps after a replay. The plugin is a fake
// one, whose programs compute nothing (runtime/pjrt/test_fake_plugin.h).

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "compiler/emit/segments.h"
#include "ir/ops/registry.h"
#include "runtime/launch/place.h"
#include "support/fake_accelerated.h"
#include "support/ranks.h"
#include "zoo/zoo_job.h"

namespace partita {
namespace {

/// Returns the places of states, outputs and, without micro-batches, inputs, which stay between steps.
std::set<int> kept_places(const Schedule& schedule, bool has_micro_batches = false) {
  const std::vector<int> places = places_of(schedule);
  std::set<int> kept;
  for (const std::vector<int>* buffers : {&schedule.entry, &schedule.outputs}) {
    for (const int buffer : *buffers) kept.insert(places[static_cast<size_t>(buffer)]);
  }
  for (const int buffer : schedule.inputs) {
    if (!has_micro_batches) kept.insert(places[static_cast<size_t>(buffer)]);
  }
  return kept;
}

/// Bytes on a device after each program of a step without micro-batches: states and outputs that are there, and values
/// that an instruction after the program reads.
std::vector<int64_t> expected_bytes(const Program& program) {
  const Schedule& schedule = program.schedule();
  const LocalGraph& local = program.local();
  const std::vector<int> places = places_of(schedule);
  const auto& list = schedule.instructions;
  const std::set<int> kept = kept_places(schedule);
  const auto is_read_from = [&](int place, size_t begin) {
    return std::any_of(list.begin() + static_cast<std::ptrdiff_t>(begin), list.end(), [&](const Instruction& one) {
      return std::any_of(one.inputs.begin(), one.inputs.end(),
                         [&](int buffer) { return places[static_cast<size_t>(buffer)] == place; });
    });
  };
  std::vector<int64_t> bytes;
  std::set<int> there = kept;  // all states and outputs, in the second step
  const Segmenter segmenter(schedule, local, all_ops(), CollectiveMode::cut, Guarding::where_possible);
  for (const Segment& segment : segmenter.segments({schedule.update()})) {
    for (const std::vector<int>* used : {&segment.inputs, &segment.outputs}) there.insert(used->begin(), used->end());
    // The inputs of a program are there until it has been started.
    int64_t sum = kFlagBytes;
    for (const int place : there) sum += local.type(schedule.buffers[place].value, {}).bytes();
    bytes.push_back(sum);
    std::erase_if(there, [&](int place) { return !kept.contains(place) && !is_read_from(place, segment.end); });
  }
  return bytes;
}

TEST_F(FakeAccelerated, ValuesAreReleasedAfterTheirLastReader) {
  Job job = this->job(1);
  job.end = [&](const Program& program, Executor& executor, Communicator&) {
    fake_->bytes_after_runs.clear();
    executor.step();
    EXPECT_EQ(fake_->bytes_after_runs, expected_bytes(program));
    const Schedule& schedule = program.schedule();
    const std::set<int> kept = kept_places(schedule);
    int64_t bytes = kFlagBytes;
    for (const int place : kept) bytes += program.local().type(schedule.buffers[place].value, {}).bytes();
    EXPECT_EQ(fake_->device_bytes, bytes) << "between steps there are states, outputs and inputs";
  };
  run_job(job);
}

// Sums of gradients stay, and nothing else that is not there without micro-batches.
TEST_F(FakeAccelerated, MicroBatchesLeaveTheirSumsAlone) {
  for (const int64_t micro_batches : {2, 4}) {
    start();
    Job job = this->job(1, micro_batches);
    job.end = [&](const Program& program, Executor&, Communicator&) {
      const Schedule& schedule = program.schedule();
      const std::vector<int> places = places_of(schedule);
      std::set<int> kept = kept_places(schedule, /*has_micro_batches=*/true);
      for (const Instruction& one : schedule.instructions) {
        if (one.kind == Instruction::accumulate) kept.insert(places[static_cast<size_t>(one.outputs[0])]);
      }
      int64_t bytes = kFlagBytes;
      for (const int place : kept) bytes += program.local().type(schedule.buffers[place].value, {0}).bytes();
      EXPECT_EQ(fake_->device_bytes, bytes);
    };
    run_job(job);
  }
}

TEST_F(FakeAccelerated, ReplaysFindTheirValues) {
  Job job = this->job(1, 2);
  job.end = [&](const Program& program, Executor& executor, Communicator&) {
    for (const auto& stage : executor.stages()) stage->values().run_singly(true);
    prepare(executor, program, job);
    executor.step();
    for (const auto& stage : executor.stages()) stage->values().run_singly(false);
    executor.step();
  };
  run_job(job);
}

/// %c, the last value before the update, is computed from %a, a result of the first program, and from a sum over ranks.
constexpr std::string_view kReadLate = R"(partita graph 1
graph late
input %x: f64[8,8] batch=0
%a = square(%x) : f64[8,8]
%loss = reduce(%a) {axes=[0,1]} : f64[]
%c = mul(%a, %loss) : f64[8,8]
output loss = %loss
output c = %c
)";

// A step that goes on after a replay, as with --on-nan skip, finds its values and keeps no more of them.
TEST_F(FakeAccelerated, AStepAfterAReplayIsAsOthers) {
  const Program program =
      compile(parse_graph(kReadLate, all_ops()), all_ops(), make_device(all_ops(), *accelerator_, 1)->catalog(),
              {.ranks = 2, .plan = {.parallel = Parallel::data}});
  on_ranks(2, [&](Communicator& world) {
    const auto device = make_device(all_ops(), world.rank() == 0 ? *accelerator_ : *second_, 1);
    Executor executor(program.pipeline, program.stages, all_ops(), *device, world);
    const Array x = random_array({DType::f64, {4, 8}}, 5);
    struct Step {
      std::string bad;
      int uploads = 0, programs = 0;
      int64_t bytes = 0;
      bool operator==(const Step&) const = default;
    };
    const auto step = [&](double fill) {
      const auto alone = [&](const auto& look) {
        world.barrier();
        if (world.rank() == 0) look();
        world.barrier();
      };
      Step seen;
      alone([&] {
        fake_->fill = fill;
        seen.uploads = -fake_->calls[Function::client_buffer_from_host];
        seen.programs = -fake_->calls[Function::loaded_executable_execute];
      });
      executor.set_input("x", x.tensor());
      seen.bad = executor.try_step().value_or("");
      alone([&] {
        seen.uploads += fake_->calls[Function::client_buffer_from_host];
        seen.programs += fake_->calls[Function::loaded_executable_execute];
        seen.bytes = fake_->device_bytes;
      });
      return seen;
    };
    step(1);
    const Step normal = step(1);
    EXPECT_EQ(normal.bad, "");
    EXPECT_TRUE(step(NAN).bad.starts_with("the loss is not finite, got nan, expected a number: first made by "));
    const Step after = step(1);
    if (world.rank() != 0) return;
    EXPECT_GE(normal.programs, 4) << "two on each rank";
    EXPECT_EQ(after.bad, "");
    EXPECT_EQ(after.programs, normal.programs);
    EXPECT_EQ(after.uploads, normal.uploads);
    EXPECT_EQ(after.bytes, normal.bytes);
  });
}

// A replay that fails ends: the next step runs whole programs.
TEST_F(FakeAccelerated, AReplayThatFailsLeavesNoSingleSteps) {
  Job job = this->job(1);
  job.steps = 1;
  job.end = [&](const Program& program, Executor& executor, Communicator&) {
    auto& calls = fake_->calls[Function::loaded_executable_execute];
    const auto runs_of = [&](const std::function<void()>& step) {
      const int before = calls;
      step();
      return calls - before;
    };
    const int runs = runs_of([&] { executor.step(); });
    fake_->fill = NAN;
    fake_->failing[Function::loaded_executable_execute] = ErrorCode::unknown;
    fake_->failing_call[Function::loaded_executable_execute] = calls + runs + 1;  // the update does not run
    EXPECT_TRUE(has(failure_of([&] { executor.step(); }).first, " failed with code 2: "));
    fake_->failing.clear();
    fake_->fill = 1;
    prepare(executor, program, job);
    EXPECT_EQ(runs_of([&] { executor.step(); }), runs);
  };
  run_job(job);
}

TEST_F(FakeAccelerated, AStepThatDoesNotFitIsRefusedBeforeItBegins) {
  run_job(job(1));
  const int64_t needed = fake_->max_device_bytes + 64 - kFlagBytes;  // with the temporaries of a program
  for (const int64_t limit : {needed, needed - 1}) {
    start();
    fake_->memory_limit = limit;
    const auto [message, code] = failure_of([&] { run_job(job(1)); });
    if (limit == needed) {
      EXPECT_EQ(message, "");
      continue;
    }
    EXPECT_EQ(code, ExitCode::out_of_memory);
    EXPECT_TRUE(message.starts_with("[memory] the programs do not fit the device, got ")) << message;
    EXPECT_TRUE(has(message, " of states, ") && has(message,
                                                    " of other values, 64 bytes of temporaries) for the "
                                                    "program of "))
        << message;
    EXPECT_EQ(fake_->calls[Function::loaded_executable_execute], 0);
  }
}

// Nobody reads the logits of a training.
TEST(AcceleratorPrograms, ATrainingReturnsNoLogits) {
  for (const Purpose purpose : {Purpose::training, Purpose::evaluation}) {
    JobConfig config = configured("gpt:layers=2,hidden=8,heads=2,seq=6,vocab=96", {});
    config.training.batch = config.evaluation.batch = 12;
    config.ranks.device = "xla:cpu";
    const Program program = ZooJob(config, Place{.cores = 1}).program(purpose);
    const Schedule& schedule = program.schedule();
    int64_t largest = 0;
    for (const Segment& segment : Segmenter(schedule, program.local(), all_ops()).segments({schedule.update()})) {
      for (const int place : segment.outputs) {
        largest = std::max(largest, program.local().type(schedule.buffers[place].value, {}).elements());
      }
    }
    const int64_t logits = 12 * 6 * 96;
    if (purpose == Purpose::training) {
      EXPECT_LT(largest, logits);
    }
    if (purpose == Purpose::evaluation) {
      EXPECT_EQ(largest, logits);
    }
  }
}

}  // namespace
}  // namespace partita
