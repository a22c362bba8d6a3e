// Steps that begin before the one before them has ended. Those that compute run if PARTITA_PJRT_PLUGIN names a plugin
// for CPUs (tools/xla/get_plugin.sh).

#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <random>

#include "support/fake_accelerated.h"
#include "support/needs_plugin.h"
#include "support/one_rank.h"

namespace partita {
namespace {

constexpr std::string_view kWithIds = R"(partita graph 1
graph ids
input %x: f64[4,3] batch=0
input %given: f64[4] batch=0
input %label: i32[4] batch=0
state %w: f64[3,5] parameter normal(0,1)
state %v: f64[5,3] parameter constant(0.2)
%made = cast(%given) {dtype=i32} : i32[4]
%rows = embedding(%v, %made) : f64[4,3]
%sum = add(%x, %rows) : f64[4,3]
%log = log(%sum) : f64[4,3] ; scope=net/log
%a = matmul(%log, %w) : f64[4,5]
%losses, %lse = cross_entropy(%a, %label) : f64[4], f64[4,1]
%loss = reduce(%losses) {axes=[0], scale=0.25} : f64[]
output loss = %loss
)";

// The device has the next step before the host asks for anything of the one before it.
TEST_F(FakeAccelerated, TheNextStepBeginsBeforeThisOneEnds) {
  OneRank one(job(1), *accelerator_);
  ASSERT_TRUE(one.executor.can_run_ahead());
  const auto waits = [&] {
    return fake_->calls[Function::event_await] + fake_->calls[Function::buffer_to_host] +
           fake_->calls[Function::buffer_ready_event];
  };
  one.set("x", rows_of(1));
  one.executor.begin_step();
  for (uint64_t step = 2; step < 6; ++step) {
    one.set("x", rows_of(step));
    const int before = waits(), programs = fake_->calls[Function::loaded_executable_execute];
    one.executor.begin_step();
    EXPECT_EQ(waits(), before) << "a step that begins waits for nothing";
    EXPECT_EQ(fake_->calls[Function::loaded_executable_execute], programs + 1);
    EXPECT_EQ(one.executor.steps_in_flight(), 2u);
    EXPECT_EQ(one.executor.end_step().bad, std::nullopt);
    EXPECT_EQ(one.executor.steps_in_flight(), 1u);
    EXPECT_TRUE(are_equal(one.value("x"), rows_of(step)));
  }
  EXPECT_FALSE(one.executor.end_step().bad);
  EXPECT_EQ(one.executor.steps_in_flight(), 0u);
  EXPECT_EQ(fake_->max_in_flight, 2);
}

// A step that is not finite ends with its own inputs, however those of the next one were given, and with nothing in
// flight. The replay runs on them.
TEST_F(FakeAccelerated, AStepThatIsNotFiniteTakesTheNextOneBack) {
  for (const bool copies_ahead : {false, true}) {
    start();
    OneRank one(job(1), *accelerator_);
    one.set("x", rows_of(1));
    for (int round = 0; round < 3; ++round) {
      const int64_t bytes = fake_->device_bytes;
      fake_->fill = NAN;
      one.executor.begin_step([&] {
        if (copies_ahead) one.set_next("x", rows_of(2));
      });
      fake_->fill = 1;
      if (!copies_ahead) one.set("x", rows_of(2));
      if (copies_ahead) {
        EXPECT_TRUE(one.executor.use_next_inputs());
      }
      one.executor.begin_step([&] {
        if (copies_ahead) one.set_next("x", rows_of(3));
      });
      const StepResult ended = one.executor.end_step();
      EXPECT_TRUE(std::isnan(ended.loss));
      EXPECT_TRUE(ended.bad.value_or("").starts_with("the loss is not finite, got nan, expected a number"))
          << ended.bad.value_or("");
      EXPECT_EQ(one.executor.steps_in_flight(), 0u);
      EXPECT_TRUE(are_equal(one.value("x"), rows_of(1)));
      EXPECT_FALSE(one.executor.use_next_inputs()) << "they are those of a step that does not come";
      if (round > 0) {
        EXPECT_LE(fake_->device_bytes, bytes) << "no inputs are kept";
      }
    }
    one.executor.step();
  }
}

// Whatever fails leaves nothing in flight, and a step that begins later ends as always.
TEST_F(FakeAccelerated, AfterAFailureNoStepIsInFlight) {
  for (const bool late : {false, true}) {
    for (const int call : {1, 2}) {
      start();
      Job job = this->job(1);
      OneRank one(job, *accelerator_);
      one.set("x", rows_of(1));
      auto& failing = late ? fake_->failing_later : fake_->failing;
      failing[Function::loaded_executable_execute] = ErrorCode::unknown;
      fake_->failing_call[Function::loaded_executable_execute] = call;
      const std::string message = failure_of([&] {
                                    one.executor.begin_step();
                                    one.set("x", rows_of(2));
                                    one.executor.begin_step();
                                    one.executor.end_step();
                                    one.executor.end_step();
                                  }).first;
      EXPECT_TRUE(has(message, " failed with code 2: ")) << message;
      EXPECT_EQ(one.executor.steps_in_flight(), 0u);
      failing.clear();
      for (const auto& [name, value] : job.states) one.executor.set_state(name, value);
      prepare(one.executor, one.program, job);
      EXPECT_EQ(failure_of([&] { one.executor.step(); }).first, "");
    }
  }
}

// A step that cannot begin, since what it needs does not fit the device, takes no states with it.
TEST_F(FakeAccelerated, AStepThatCannotBeginLeavesTheOneBeforeIt) {
  fake_->fill_i64 = 0;  // programs find no bad id
  Job job = this->job(1);
  job.forward = parse_graph(std::string(kWithIds), all_ops());
  job.states = initial_states(job.forward, /*seed=*/3);
  OneRank one(job, *accelerator_);
  const auto set_all = [&] {
    one.set("x", random_array({DType::f64, {4, 3}}, 1));
    one.set("given", Array({DType::f64, {4}}));
    one.set("label", random_array({DType::i32, {4}}, 2, 5));
  };
  set_all();
  one.executor.begin_step();
  set_all();
  fake_->failing[Function::client_buffer_from_host] = ErrorCode::resource_exhausted;
  const auto [message, code] = failure_of([&] { one.executor.begin_step(); });
  fake_->failing.clear();
  EXPECT_EQ(code, ExitCode::out_of_memory) << message;
  EXPECT_TRUE(has(message, ": label, which goes to the device")) << message;
  EXPECT_EQ(one.executor.steps_in_flight(), 0u);
  EXPECT_EQ(failure_of([&] { one.states(); }).first, "");
  one.executor.step();
}

TEST_F(FakeAccelerated, StepsInFlightAreAtMostTwo) {
  OneRank one(job(1), *accelerator_);
  one.set("x", rows_of(1));
  EXPECT_THROW(one.executor.end_step(), InternalError);
  one.executor.begin_step();
  EXPECT_THROW(one.executor.run(), InternalError);
  one.executor.begin_step();
  EXPECT_THROW(one.executor.begin_step(), InternalError);
  EXPECT_THROW(one.executor.keep_states_alone(), InternalError);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(one.executor.end_step().bad, std::nullopt);
  EXPECT_THROW(one.executor.end_step(), InternalError);
}

/// Steps with random rows, some of which are bad in some way.
struct BadStep {
  enum Kind { none, not_finite, label, id } kind = none;
  Arrays inputs;
};

BadStep random_step(std::mt19937& random, BadStep::Kind kind) {
  BadStep step{.kind = kind};
  Array x({DType::f64, {4, 3}}), given({DType::f64, {4}}), label({DType::i32, {4}});
  for (int64_t i = 0; i < 12; ++i) x.set(i, 1 + static_cast<double>(random() % 100) / 50);
  for (int64_t i = 0; i < 4; ++i) given.set(i, static_cast<double>(random() % 5));
  for (int64_t i = 0; i < 4; ++i) label.set(i, static_cast<double>(random() % 5));
  if (kind == BadStep::not_finite) x.set(static_cast<int64_t>(random() % 12), random() % 2 == 0 ? NAN : -50);
  if (kind == BadStep::id) given.set(static_cast<int64_t>(random() % 4), random() % 2 == 0 ? 5 : -1);
  if (kind == BadStep::label) label.set(static_cast<int64_t>(random() % 4), random() % 2 == 0 ? 5 : -1);
  step.inputs.emplace("x", std::move(x));
  step.inputs.emplace("given", std::move(given));
  step.inputs.emplace("label", std::move(label));
  return step;
}

/// Losses, then the message that ends the training, and the states.
struct Taken {
  std::vector<double> losses;
  std::string message;
  Arrays states;
};

std::string without_sign(std::string message) {
  if (const size_t sign = message.find("got -nan"); sign != std::string::npos) message.erase(sign + 4, 1);
  return message;
}

/// Takes the steps until one is bad, with at most `ahead` more in flight than the one that is ended next.
Taken train_steps(const Job& job, const std::string& device, const std::vector<BadStep>& steps, size_t ahead) {
  OneRank one(job, make_device(all_ops(), {.name = device, .threads = 1, .kernels = KernelSet::reference}));
  Array rate({DType::f64, {}});
  rate.set(0, 0.05);
  one.set("learning_rate", rate);
  Taken trained;
  bool has_ended = false;
  const auto end = [&](size_t left) {
    while (one.executor.steps_in_flight() > left && !has_ended) {
      const StepResult ended = one.executor.end_step();
      has_ended = ended.bad.has_value();
      if (has_ended) trained.message = without_sign(*ended.bad);
      if (!has_ended) trained.losses.push_back(ended.loss);
    }
  };
  for (size_t i = 0; i < steps.size() && !has_ended; ++i) {
    try {
      for (const auto& [name, value] : steps[i].inputs) one.set(name, value);
      one.executor.begin_step();
      end(i + 1 < steps.size() ? ahead : 0);
    } catch (const InvalidArgument& error) {
      trained.message = error.what();
      end(0);  // a step cannot begin: the one before it ends
      has_ended = true;
    }
  }
  trained.states = one.states();
  return trained;
}

class RunAhead : public NeedsPlugin {};

Job job_with_ids(const std::string& device) {
  Job job;
  job.forward = parse_graph(std::string(kWithIds), all_ops());
  job.training.optimizer = {.kind = OptimizerKind::adamw};
  job.states = initial_states(job.forward, /*seed=*/3);
  job.device_name = device;
  return job;
}

// One step in flight or two, with any bad step anywhere: the same bits, and the message and the states of a CPU.
TEST_F(RunAhead, IsTheSameTraining) {
  if (ranks_are_processes()) return;
  std::mt19937 random(11);
  const Job job = job_with_ids("xla:cpu");
  const Job on_cpu = job_with_ids("cpu");
  for (int round = 0; round < 40; ++round) {
    const auto kind = static_cast<BadStep::Kind>(round % 4);
    const size_t bad = random() % 6;
    std::vector<BadStep> steps;
    for (size_t i = 0; i < 6; ++i) steps.push_back(random_step(random, i == bad ? kind : BadStep::none));
    const Taken oracle = train_steps(on_cpu, "cpu", steps, 0), waits = train_steps(job, "xla:cpu", steps, 0),
                ahead = train_steps(job, "xla:cpu", steps, 1);
    EXPECT_EQ(oracle.message.empty(), kind == BadStep::none);
    EXPECT_EQ(ahead.message, oracle.message) << round;
    EXPECT_EQ(waits.message, oracle.message) << round;
    EXPECT_EQ(ahead.losses, waits.losses) << round;
    ASSERT_EQ(ahead.losses.size(), oracle.losses.size()) << round;
    EXPECT_EQ(oracle.losses.size(), kind == BadStep::none ? steps.size() : bad);
    for (size_t i = 0; i < oracle.losses.size(); ++i) EXPECT_NEAR(ahead.losses[i], oracle.losses[i], 1e-12);
    for (const auto& [name, state] : oracle.states) {
      EXPECT_TRUE(are_equal(ahead.states.at(name), waits.states.at(name))) << name;
      EXPECT_LE(relative_error(ahead.states.at(name), state), 1e-9) << name << " in round " << round;
    }
  }
}

// The first micro-batch has an id out of range, which its program finds, and the second a label, which the host finds
// before it starts a program. The next step is as if nothing had been.
TEST_F(RunAhead, AStepThatEndsEarlyLeavesTheNextOneAlone) {
  if (ranks_are_processes()) return;
  std::mt19937 random(5);
  Job job = job_with_ids("xla:cpu");
  job.micro_batches = 2;
  const BadStep good = random_step(random, BadStep::none);
  std::vector<Arrays> states;
  for (const bool ends_early : {false, true}) {
    OneRank one(job, make_device(all_ops(), {.name = "xla:cpu", .threads = 1, .kernels = KernelSet::reference}));
    const auto set_all = [&](const Arrays& inputs) {
      for (const auto& [name, value] : inputs) {
        for (int64_t m = 0; m < 2; ++m) {
          Box box = whole_box(value.type().shape);
          box[0] = {2 * m, 2 * m + 2, 4};
          one.executor.set_input(name, value.tensor(), box, m);
        }
      }
    };
    Array rate({DType::f64, {}});
    rate.set(0, 0.05);
    one.set("learning_rate", rate);
    if (ends_early) {
      Arrays bad = good.inputs;
      bad.at("given").set(0, 7);
      bad.at("label").set(3, 9);
      set_all(bad);
      EXPECT_TRUE(has(failure_of([&] { one.executor.step(); }).first, "got 9, expected")) << "the host finds it first";
    }
    set_all(good.inputs);
    one.executor.step();
    states.push_back(one.states());
  }
  for (const auto& [name, state] : states[0]) EXPECT_TRUE(are_equal(states[1].at(name), state)) << name;
  EXPECT_FALSE(are_equal(states[0].at("w"), job.states.at("w")));
}

}  // namespace
}  // namespace partita
