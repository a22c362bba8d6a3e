// Programs that a step runs on an accelerator, with a fake plugin: how many, and errors of those in flight.

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <regex>
#include <sstream>

#include "compiler/emit/segments.h"
#include "ir/ops/registry.h"
#include "runtime/execute/executor.h"
#include "runtime/launch/place.h"
#include "support/fake_accelerated.h"
#include "zoo/zoo_job.h"

namespace partita {
namespace {

/// Number of programs that rank 0 of a job runs in a step, and the number of its collectives, of which adjacent ones
/// count once.
struct Launches {
  int programs = 0, cuts = 0;
};

Launches launches_of(FakePlugin& fake, Job job) {
  Launches launches;
  job.steps = 1;
  int before = 0;
  const Program program = compile_job(job);
  job.begin = [&](const Program&, Executor&, Communicator& world) {
    world.barrier();
    if (world.rank() == 0) before = fake.calls[Function::loaded_executable_execute];
    world.barrier();
  };
  job.end = [&](const Program&, Executor&, Communicator& world) {
    world.barrier();
    if (world.rank() == 0) {
      launches.programs = (fake.calls[Function::loaded_executable_execute] - before) / world.size();
    }
    world.barrier();
  };
  run_job(job, program);
  const Segmenter segmenter(program.schedule(), program.local(), all_ops());
  bool was_program = true;
  for (const Instruction& instruction : program.schedule().instructions) {
    if (was_program && !segmenter.in_program(instruction)) ++launches.cuts;
    was_program = segmenter.in_program(instruction);
  }
  return launches;
}

TEST_F(FakeAccelerated, AStepRunsAsFewProgramsAsItsCollectivesAllow) {
  Job mlp = model_job("mlp:layers=3,hidden=64", {.image = {1, 6, 5}, .batch = 12});
  on_fake(mlp);
  const Launches alone = launches_of(*fake_, mlp);
  EXPECT_EQ(alone.cuts, 0);
  EXPECT_EQ(alone.programs, 1);
  mlp.micro_batches = 4;
  EXPECT_EQ(launches_of(*fake_, mlp).programs, 6) << "one before the micro-batches, one in each, and the update";
  for (const int64_t level : {0, 3}) {
    Job gpt = model_job("gpt:layers=2,hidden=8,heads=4,seq=6,vocab=12", {.batch = 12});
    on_fake(gpt);
    gpt.ranks = 2;
    gpt.zero = {.level = level, .threshold = 0};
    const Launches launches = launches_of(*fake_, gpt);
    EXPECT_GT(launches.cuts, 0);
    EXPECT_LE(launches.programs, launches.cuts + 2) << "the update begins a program";
  }
}

// Ranks count: in whole mode the first one starts a program for all of them.
TEST_F(FakeAccelerated, InWholeModeAStepIsAProgram) {
  for (const int64_t level : {0, 3}) {
    Job gpt = model_job("gpt:layers=2,hidden=8,heads=4,seq=6,vocab=12", {.batch = 12});
    gpt.ranks = 2;
    gpt.zero = {.level = level, .threshold = 0};
    gpt.device = whole_job().device;
    gpt.collectives = CollectiveMode::whole;
    gpt.steps = 3;
    const int before = fake_->calls[Function::loaded_executable_execute];
    run_job(gpt);
    EXPECT_EQ(fake_->calls[Function::loaded_executable_execute] - before, gpt.steps) << "level " << level;
  }
}

TEST_F(FakeAccelerated, InWholeModeEachMicroBatchIsAProgram) {
  for (const int64_t level : {0, 1, 3}) {
    JobConfig config = configured("gpt:layers=2,hidden=8,heads=4,seq=6,vocab=12", {});
    config.training.batch = 16;
    config.ranks = {.count = 2, .threads = 1, .device = "xla:cpu", .collectives = CollectiveChoice::whole};
    config.plan.options.micro_batches = 4;
    config.plan.options.zero.level = level;
    const Program program = ZooJob(config, Place{.cores = 2}).program(Purpose::training);
    const Segmenter segmenter(program.schedule(), program.local(), all_ops());
    const Schedule& schedule = program.schedule();
    int64_t programs = 0;
    bool was_program = false;
    size_t section = schedule.instructions.size();
    for (size_t i = 0; i < schedule.instructions.size(); ++i) {
      const bool is_program = segmenter.in_program(schedule.instructions[i]);
      const size_t own = schedule.begin(schedule.section_of(i));
      if (is_program && (!was_program || own != section)) programs += schedule.in_micro_batch(i) ? 4 : 1;
      was_program = is_program;
      section = own;
    }
    EXPECT_GT(programs, 4);
    EXPECT_LE(programs, 7) << "level " << level;
  }
}

/// A gather of parameters in the text of a program.
struct Gather {
  std::string operand;
  int64_t bytes_before = 0;  // bytes of all gathers before it
};

/// The gathers of f32 vectors and matrices in a program, in order, and where each value of it is computed: bytes of all
/// gathers before. Results of a barrier are computed where its last operand is.
struct Gathers {
  std::vector<Gather> gathers;
  std::map<std::string, int64_t> computed,
      barriers;  // `barriers`: of their results, where the last operand is computed

  explicit Gathers(const std::string& text) {
    int64_t bytes = 0;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      if (!has(line, " = ")) continue;
      const std::string name = first_of(line, R"(%[0-9a-z_]+)");
      computed[name] = bytes;
      const std::string operands = line.substr(line.find(" = "));
      if (has(line, "optimization_barrier")) {
        const std::string last = first_of(operands.substr(operands.find(',')), R"(%[0-9a-z_]+)");
        barriers[name] = computed.at(last);
      }
      if (!has(line, "stablehlo.all_gather")) continue;
      gathers.push_back({first_of(operands, R"(%[0-9a-z_]+)"), bytes});
      int64_t elements = 1;
      const std::string result = line.substr(line.rfind("tensor<") + 7);
      for (const char* at = result.c_str(); *at >= '0' && *at <= '9';) {
        char* end = nullptr;
        elements *= std::strtoll(at, &end, 10);
        at = *end == 'x' ? end + 1 : end;
      }
      bytes += 4 * elements;
    }
  }
  static std::string first_of(const std::string& text, const char* pattern) {
    std::smatch found;
    return std::regex_search(text, found, std::regex(pattern)) ? found.str() : "";
  }
};

// A compiler gathers a parameter again in the backward pass, and none long before it is used.
TEST(ProgramsOfLevel3, GatherParametersInTime) {
  for (const int64_t micro_batches : {1, 2}) {
    JobConfig config = configured("mlp:layers=6,hidden=2048", {});
    config.training.batch = 8;
    config.ranks = {.count = 4, .threads = 1, .device = "xla:cpu", .collectives = CollectiveChoice::whole};
    config.plan.options.micro_batches = micro_batches;
    config.plan.options.zero.level = 3;
    const Program program = ZooJob(config, Place{.cores = 2}).program(Purpose::training);
    const Segmenter segmenter(program.schedule(), program.local(), all_ops(), CollectiveMode::whole);
    size_t gathers = 0, tied = 0;
    for (const Segment& segment : segmenter.segments({})) {
      const Gathers found(segmenter.modules_of(segment, 0)[0]);
      constexpr int64_t kAhead = 32 << 20;
      for (const Gather& gather : found.gathers) {
        const auto barrier = found.barriers.find(gather.operand);
        if (barrier == found.barriers.end()) {
          EXPECT_LT(gather.bytes_before, kAhead + (16 << 20)) << gather.operand;
        } else {
          EXPECT_LE(gather.bytes_before - barrier->second, kAhead + (16 << 20)) << "not too early";
          EXPECT_GE(gather.bytes_before - barrier->second, kAhead) << "not too late";
          ++tied;
        }
      }
      gathers += found.gathers.size();
    }
    EXPECT_GE(gathers, 12) << "each matrix twice";
    EXPECT_GE(tied, gathers - 4);
  }
}

/// Number of programs that all ranks of a gpt on two stages run in a step, in 4 micro-batches.
int programs_of_stages(FakePlugin& fake, Job gpt, double clip_norm, Order order = Order::one_forward_one_backward) {
  gpt.ranks = 2;
  gpt.micro_batches = 4;
  gpt.pipeline.stages = 2;
  gpt.pipeline.order = order;
  gpt.training.optimizer.clip_norm = clip_norm;
  const int before = fake.calls[Function::loaded_executable_execute];
  run_job(gpt);
  return (fake.calls[Function::loaded_executable_execute] - before) / gpt.steps;
}

// A value that a stage receives begins a program where it is read first. The norms of all gradients come with the
// verdict, so neither the backward pass nor the update is cut for one of them.
TEST_F(FakeAccelerated, AStageRunsTwoProgramsInAMicroBatch) {
  for (const int64_t layers : {2, 4}) {
    Job gpt = model_job(fmt::format("gpt:layers={},hidden=8,heads=2,seq=6,vocab=12", layers), {.batch = 8, .steps = 3});
    on_fake(gpt);
    const int programs = programs_of_stages(*fake_, gpt, 0);
    EXPECT_EQ(programs, 2 * (4 * 2 + 2)) << "the others: sums over stages or states that are sent, and the update";
    EXPECT_EQ(programs_of_stages(*fake_, gpt, 0.1), programs + 2) << "one more on each stage, for its norms";
    EXPECT_EQ(programs_of_stages(*fake_, gpt, 0, Order::zero_bubble), programs + 4)
        << "gradients of weights of one stage";
  }
}

TEST(StagesInWholeMode, CutProgramsOnlyWhereTheyCommunicate) {
  for (const int64_t level : {0, 1, 3}) {
    for (const double clip : {0.0, 0.1}) {
      JobConfig config = configured("gpt:layers=4,hidden=8,heads=4,seq=6,vocab=12", {});
      config.training.batch = 32;
      config.optimizer.clip_norm = clip;
      config.ranks = {.count = 8, .threads = 1, .device = "xla:cpu", .collectives = CollectiveChoice::whole};
      config.plan.options.micro_batches = 4;
      config.plan.options.pipeline.stages = 2;
      config.plan.options.zero.level = level;
      const Program program = ZooJob(config, Place{.cores = 2}).program(Purpose::training);
      for (size_t stage = 0; stage < 2; ++stage) {
        const StageProgram& one = program.stages[stage];
        const Segmenter segmenter(one.schedule, one.local, all_ops(), CollectiveMode::whole);
        const std::vector<Segment> all = segmenter.segments(borders_of(program.pipeline, program.stages, stage));
        const auto repeated = std::ranges::count_if(
            all, [&](const Segment& segment) { return repeats(one.schedule.section_of(segment.begin)); });
        EXPECT_EQ(repeated, 2) << "level " << level << ", clipping " << clip << ", stage " << stage;
        EXPECT_LE(all.size(), static_cast<size_t>(repeated) + 5) << "level " << level << ", clipping " << clip;
      }
    }
  }
}

/// A job of 80 micro-batches, each of one row and one program.
Job long_job(Job job) {
  std::string text(kFourLayers);
  for (size_t at = text.find("f64[8,"); at != text.npos; at = text.find("f64[8,", at)) text.replace(at, 6, "f64[80,");
  job.forward = parse_graph(text, all_ops());
  job.micro_batches = 80;
  job.steps = 1;
  job.batch = [](int) {
    Arrays batch;
    batch.emplace("x", random_array({DType::f64, {80, 6}}, 5));
    return batch;
  };
  return job;
}

// The host waits for the oldest of many runs, so an error is thrown before the step ends.
TEST_F(FakeAccelerated, AnErrorOfTheOldestRunEndsTheStep) {
  run_job(long_job(job(1)));
  const int runs = fake_->calls[Function::loaded_executable_execute];
  ASSERT_GT(runs, 80);
  start();
  fake_->failing_later[Function::loaded_executable_execute] = ErrorCode::unavailable;
  fake_->failing_call[Function::loaded_executable_execute] = 3;
  const auto [message, code] = failure_of([&] { run_job(long_job(job(1))); });
  EXPECT_EQ(code, ExitCode::peer_lost);
  EXPECT_TRUE(has(message, "in the program of ")) << message;
  EXPECT_LT(fake_->calls[Function::loaded_executable_execute], runs);
}

TEST_F(FakeAccelerated, ErrorsOfMemoryDoWithoutThePluginsNumbers) {
  fake_->failing[Function::executable_memory_stats] = ErrorCode::unimplemented;
  fake_->failing[Function::loaded_executable_execute] = ErrorCode::resource_exhausted;
  const std::string message = failure_of([&] { run_job(job(1)); }).first;
  EXPECT_TRUE(message.starts_with("[memory] out of memory: the device: as the test wants: in the program of "))
      << message;
  EXPECT_FALSE(has(message, "temporaries")) << message;
  fake_->failing.erase(Function::loaded_executable_execute);
  fake_->memory_limit = 100;
  const auto [refusal, code] = failure_of([&] { run_job(job(1)); });
  EXPECT_EQ(code, ExitCode::out_of_memory);
  EXPECT_TRUE(has(refusal, ", 0 bytes of temporaries) for the program of ")) << refusal;
}

}  // namespace
}  // namespace partita
