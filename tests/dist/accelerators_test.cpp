// Trainings on an accelerator are those of the CPU. They run if PARTITA_PJRT_PLUGIN names a plugin for CPUs
// (tools/xla/get_plugin.sh).

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <map>

#include "ir/ops/registry.h"
#include "runtime/device/xla/accelerator.h"
#include "runtime/execute/executor.h"
#include "support/job.h"
#include "support/needs_plugin.h"
#include "support/ranks.h"

namespace partita {
namespace {

class Accelerated : public NeedsPlugin {};

Job accelerated_job(const std::string& spec, const Shape& image = {}) {
  Job job = model_job(spec, {.image = image, .batch = 12, .steps = 3});
  job.device_name = "xla:cpu";
  return job;
}

TEST_F(Accelerated, DropoutInMicroBatches) {
  Job job = accelerated_job("mlp:hidden=12,dropout=0.2", {1, 6, 5});
  const JobResult oracle = interpret_job(job);
  for (const int ranks : {1, 3}) {
    if (!can_run(ranks)) continue;
    job.ranks = ranks;
    job.micro_batches = 2;
    expect_same_training(run_job(job), oracle, 1e-9, fmt::format("{} ranks", ranks));
  }
}

// Values go to other stages and to other ranks, and both stages have the table.
TEST_F(Accelerated, StagesOfTwoRanks) {
  if (!can_run(4)) return;
  Job job = accelerated_job("gpt:layers=1,hidden=8,heads=4,seq=6,vocab=12");
  const JobResult oracle = interpret_job(job);
  job.ranks = 4;
  job.micro_batches = 2;
  job.pipeline = {.stages = 2, .order = Order::one_forward_one_backward};
  expect_same_training(run_job(job), oracle, 1e-9, "2 stages of 2 ranks");
}

// Recomputed nodes take their operands through barriers.
TEST_F(Accelerated, Recomputation) {
  Job job = accelerated_job("gpt:layers=2,hidden=8,heads=4,seq=6,vocab=12");
  const JobResult oracle = interpret_job(job);
  for (const Recompute recompute : {Recompute::selective, Recompute::full}) {
    job.training.recompute = recompute;
    for (const int ranks : {1, 2}) {
      if (!can_run(ranks)) continue;
      job.ranks = ranks;
      expect_same_training(run_job(job), oracle, 1e-9, fmt::format("{} on {} ranks", name_of(recompute), ranks));
    }
  }
}

TEST_F(Accelerated, ShardedOptimizers) {
  if (!can_run(2)) return;
  Job job = accelerated_job("gpt:layers=1,hidden=8,heads=4,seq=6,vocab=12");
  const JobResult oracle = interpret_job(job);
  job.ranks = 2;
  for (const int64_t level : {1, 3}) {
    job.zero = {.level = level, .threshold = 0};
    expect_same_training(run_job(job), oracle, 1e-9, fmt::format("level {}", level));
  }
}

constexpr std::string_view kLogOfProduct = R"(partita graph 1
graph roots
input %x: f64[8,4] batch=0
state %w: f64[4,4] parameter constant(0.3)
state %v: f64[4,4] parameter constant(0.2)
%a = matmul(%x, %w) : f64[8,4] ; scope=net/first
%b = log(%a) : f64[8,4] ; scope=net/second
%c = matmul(%b, %v) : f64[8,4] ; scope=net/third
%d = square(%c) : f64[8,4]
%loss = reduce(%d) {axes=[0,1], scale=0.1} : f64[]
output loss = %loss
)";

/// Rows of which one, in the last micro-batch of the last rank, has a bad number in the given step.
Job job_with_a_bad_row(double bad, int bad_step) {
  Job job;
  job.forward = parse_graph(kLogOfProduct, all_ops());
  job.training.optimizer = {.kind = OptimizerKind::adamw};
  job.states = initial_states(job.forward, /*seed=*/3);
  job.micro_batches = 2;
  job.steps = 2;
  job.batch = [=](int step) {
    Array x({DType::f64, {8, 4}});
    for (int64_t i = 0; i < 32; ++i) x.set(i, 1 + 0.1 * static_cast<double>((i + step) % 7));
    if (step == bad_step) x.set(30, bad);
    Arrays batch;
    batch.emplace("x", std::move(x));
    return batch;
  };
  return job;
}

/// Returns the exit code and the message of a training that fails. The sign of a NaN is left out: it has no meaning.
std::string error_of_training(const Job& job) {
  try {
    run_job(job);
    return "none";
  } catch (const RuntimeFailure& error) {
    std::string message = fmt::format("{}: {}", static_cast<int>(error.code()), error.what());
    if (const size_t sign = message.find("got -nan"); sign != std::string::npos) message.erase(sign + 4, 1);
    return message;
  }
}

TEST_F(Accelerated, NumbersThatAreNotFiniteNameTheirNode) {
  for (const auto& [bad, place] :
       {std::pair{NAN, "first made by a (matmul in net/first)"}, {-1e3, "first made by b (log in net/second)"}}) {
    for (const int ranks : {1, 2}) {
      if (ranks > 1 && ranks_are_processes()) continue;  // a process that fails is ended by its launcher
      Job job = job_with_a_bad_row(bad, /*bad_step=*/1);
      job.ranks = ranks;
      job.device_name = "cpu";
      const std::string expected = error_of_training(job);
      EXPECT_NE(expected.find(place), std::string::npos) << expected;
      job.device_name = "xla:cpu";
      EXPECT_EQ(error_of_training(job), expected);
    }
  }
}

// The step with a bad row updates nothing, also on the device, and the next one finds what it would find without it.
TEST_F(Accelerated, AStepThatIsNotFiniteLeavesStatesAlone) {
  Job job = job_with_a_bad_row(NAN, /*bad_step=*/-1);
  job.device_name = "xla:cpu";
  job.steps = 1;
  const Arrays rows = job.batch(5);
  job.end = [&](const Program& program, Executor& executor, Communicator&) {
    const auto states = [&] {
      std::map<std::string, std::vector<double>> found;
      for (const State& state : program.graph.states) {
        const std::string& name = program.graph.values[state.entry].name;
        const Array value = executor.state(name);
        for (int64_t i = 0; i < value.type().elements(); ++i) found[name].push_back(value.at(i));
      }
      return found;
    };
    const auto step = [&](double first) {
      Array x = rows.at("x");
      x.set(0, first);
      for (int64_t m = 0; m < 2; ++m) {
        executor.set_input("x", std::as_const(x).tensor(), {{4 * m, 4 * m + 4, 8}, {0, 4, 4}}, m);
      }
      executor.step();
    };
    const auto before = states();
    EXPECT_THROW(step(NAN), RuntimeFailure);
    EXPECT_EQ(states(), before);
    step(1);
    EXPECT_TRUE(std::isfinite(executor.output("loss").at(0)));
    EXPECT_NE(states(), before);
  };
  run_job(job);
}

// Ids and labels that the host feeds are checked before a program takes them; kernels of a CPU check them as they
// compute.
TEST_F(Accelerated, IdsAndLabelsOutOfRangeHaveTheMessagesOfTheCpu) {
  for (const auto& [input, value] : {std::pair{"label", 12}, {"label", -1}, {"tokens", 99}, {"tokens", -5}}) {
    for (const int ranks : {1, 2}) {
      if (ranks > 1 && ranks_are_processes()) continue;
      Job job = accelerated_job("gpt:layers=1,hidden=8,heads=4,seq=6,vocab=12");
      const std::function<Arrays(int)> rows = job.batch;
      const bool is_label = std::string_view(input) == "label";
      job.batch = [&](int step) {
        Arrays batch = rows(step);
        for (auto& [name, array] : batch) {
          if ((name == "label") != is_label || step == 0) continue;
          if (array.type().dtype == DType::i64 || array.type().dtype == DType::i32) {
            array.set(array.type().elements() - 2, value);
          }
        }
        return batch;
      };
      job.ranks = ranks;
      job.micro_batches = 2;
      const auto message_on = [&](const std::string& device) -> std::string {
        job.device_name = device;
        try {
          run_job(job);
        } catch (const InvalidArgument& error) {
          return error.what();
        }
        return "";
      };
      const std::string expected = message_on("cpu");
      EXPECT_NE(expected.find(fmt::format(", got {}, expected 0 to 11", value)), std::string::npos) << expected;
      EXPECT_EQ(message_on("xla:cpu"), expected);
    }
  }
}

TEST_F(Accelerated, RanksShareDevices) {
  const size_t count = Accelerator::open("xla:cpu", 0).client().devices();
  EXPECT_EQ(Accelerator::open("xla:cpu", static_cast<int>(count) + 1).device(), (count + 1) % count);
  EXPECT_EQ(Accelerator::open("xla:cpu:0", 1).device(), 0u);
  try {
    Accelerator::open("xla:cpu:9999", 0);
    FAIL() << "a device that is not there";
  } catch (const RuntimeFailure& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    EXPECT_EQ(error.what(),
              fmt::format("[device] no such device, got xla:cpu:9999, expected one of {} devices", count));
  }
}

TEST_F(Accelerated, EqualProgramsAreCompiledOnce) {
  const Accelerator one = Accelerator::open("xla:cpu", 0), other = Accelerator::open("xla:cpu", 1);
  const std::string text =
      "module @segment {\n  func.func public @main(%arg0: tensor<2xf64>) -> (tensor<2xf64>) {\n    return %arg0 : "
      "tensor<2xf64>\n  }\n}\n";
  const auto first = one.compile(text);
  EXPECT_EQ(other.compile(text), first);
}

}  // namespace
}  // namespace partita
