// Inputs on an accelerator, with a fake plugin: those of the next step are copied while it computes this one.

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "support/fake_accelerated.h"
#include "support/one_rank.h"

namespace partita {
namespace {

constexpr std::string_view kLabelled = R"(partita graph 1
graph labelled
input %x: f64[4,3] batch=0
input %label: i32[4] batch=0
state %w: f64[3,5] parameter constant(0.1)
%a = matmul(%x, %w) : f64[4,5]
%rows, %lse = cross_entropy(%a, %label) : f64[4], f64[4,1]
%loss = reduce(%rows) {axes=[0]} : f64[]
output loss = %loss
)";

TEST_F(FakeAccelerated, InputsOfTheNextStepAreCopiedInThisOne) {
  OneRank one(job(1), *accelerator_);
  EXPECT_TRUE(one.executor.can_set_next_inputs());
  EXPECT_FALSE(one.executor.use_next_inputs());
  one.set("x", rows_of(1));
  int calls = 0;
  for (uint64_t step = 1; step < 5; ++step) {
    const int programs = fake_->calls[Function::loaded_executable_execute];
    int copies = fake_->calls[Function::client_buffer_from_host];
    one.executor.step([&] {
      ++calls;
      EXPECT_EQ(fake_->calls[Function::loaded_executable_execute], programs + 1) << "the device computes";
      const int before = fake_->calls[Function::client_buffer_from_host];
      one.set_next("x", rows_of(step + 1));
      EXPECT_EQ(fake_->calls[Function::client_buffer_from_host], before + 1);
      EXPECT_TRUE(are_equal(one.value("x"), rows_of(step))) << step;
    });
    if (step > 1) {
      EXPECT_EQ(fake_->calls[Function::client_buffer_from_host] - copies, 1) << "of rows";
    }
    EXPECT_TRUE(are_equal(one.value("x"), rows_of(step))) << step;
    EXPECT_TRUE(one.executor.use_next_inputs());
    EXPECT_FALSE(one.executor.use_next_inputs());
    EXPECT_TRUE(are_equal(one.value("x"), rows_of(step + 1))) << step;
  }
  EXPECT_EQ(calls, 4) << "once in each step";
}

// The replay that looks for the first node takes the inputs of its own step.
TEST_F(FakeAccelerated, ReplaysTakeTheInputsOfTheirStep) {
  OneRank one(job(1), *accelerator_);
  one.set("x", rows_of(1));
  int calls = 0;
  fake_->fill = NAN;
  EXPECT_TRUE(one.executor
                  .try_step([&] {
                    ++calls;
                    one.set_next("x", rows_of(2));
                  })
                  .has_value());
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(are_equal(one.value("x"), rows_of(1)));
  fake_->fill = 1;
  EXPECT_FALSE(one.executor.use_next_inputs()) << "the replay needs the memory";
  one.set("x", rows_of(2));
  EXPECT_FALSE(one.executor.try_step().has_value());
  EXPECT_TRUE(are_equal(one.value("x"), rows_of(2)));
}

TEST_F(FakeAccelerated, NoMemoryForASecondBatchIsNoError) {
  run_job(job(1));
  const int64_t needed = fake_->max_device_bytes + 64 - kFlagBytes;  // with the temporaries of a program
  const int64_t inputs = 8 * 6 * 8 + 8;                              // x and the learning rate
  const auto with_a_tenth = [](int64_t bytes) {
    int64_t limit = bytes;
    while (limit - limit / 10 < bytes) ++limit;
    return limit;
  };
  const int64_t enough = with_a_tenth(needed + inputs), enough_ahead = with_a_tenth(needed + 2 * inputs);
  for (const int64_t limit : {needed, needed + inputs, enough - 1, enough, enough_ahead - 1, enough_ahead}) {
    start();
    fake_->memory_limit = limit;
    OneRank one(job(1), *accelerator_);
    EXPECT_EQ(one.executor.can_set_next_inputs(), limit >= enough) << limit - needed;
    EXPECT_EQ(one.executor.can_run_ahead(), limit == enough_ahead) << limit - needed;
    one.set("x", rows_of(1));
    one.executor.step();
  }
  start();
  fake_->memory_limit = 10 * enough;
  EXPECT_TRUE(OneRank(job(1), *accelerator_).executor.can_set_next_inputs());
  fake_->failing[Function::executable_memory_stats] = ErrorCode::unimplemented;
  {
    const OneRank one(job(1), *accelerator_);
    EXPECT_FALSE(one.executor.can_set_next_inputs()) << "temporaries are not known";
    EXPECT_FALSE(one.executor.can_run_ahead());
  }
  Job split = job(1, 2);
  const OneRank micro_batches(split, *accelerator_);
  EXPECT_FALSE(micro_batches.executor.can_set_next_inputs());
  EXPECT_FALSE(micro_batches.executor.can_run_ahead());
}

TEST_F(FakeAccelerated, ACopyThatFailsLeavesTheStepAlone) {
  OneRank one(job(1), *accelerator_);
  one.set("x", rows_of(1));
  one.executor.step([&] {
    fake_->failing[Function::client_buffer_from_host] = ErrorCode::resource_exhausted;
    const auto [message, code] = failure_of([&] { one.set_next("x", rows_of(2)); });
    EXPECT_EQ(code, ExitCode::out_of_memory);
    EXPECT_TRUE(has(message, ": x, which goes to the device")) << message;
    one.executor.forget_next_inputs();
    fake_->failing.erase(Function::client_buffer_from_host);
  });
  EXPECT_FALSE(one.executor.use_next_inputs());
  one.set("x", rows_of(2));
  one.executor.step();
  EXPECT_TRUE(are_equal(one.value("x"), rows_of(2)));
}

// An input that could not be copied is on the host.
TEST_F(FakeAccelerated, ACopyThatFailsCanBeMadeLater) {
  OneRank one(job(1), *accelerator_);
  one.set("x", rows_of(1));
  fake_->failing[Function::client_buffer_from_host] = ErrorCode::resource_exhausted;
  EXPECT_EQ(failure_of([&] { one.set("x", rows_of(2)); }).second, ExitCode::out_of_memory);
  fake_->failing.erase(Function::client_buffer_from_host);
  one.executor.step();
  EXPECT_TRUE(are_equal(one.value("x"), rows_of(2)));
}

// The host checks labels before the step that uses them.
TEST_F(FakeAccelerated, LabelsOfTheNextStepAreCheckedInIt) {
  Job job = this->job(1);
  job.forward = parse_graph(kLabelled, all_ops());
  job.states = initial_states(job.forward, 3);
  OneRank one(job, *accelerator_);
  const Array x = random_array({DType::f64, {4, 3}}, 5), good = random_array({DType::i32, {4}}, 6, 5);
  Array bad = good;
  bad.set(2, 5);
  one.set("x", x);
  one.set("label", good);
  one.executor.step([&] { one.set_next("label", bad); });
  EXPECT_TRUE(are_equal(one.value("label"), good));
  EXPECT_TRUE(one.executor.use_next_inputs());
  EXPECT_TRUE(are_equal(one.value("label"), bad));
  const std::string message = failure_of([&] { one.executor.step(); }).first;
  EXPECT_TRUE(has(message, "got 5, expected")) << message;
  one.set("label", good);
  one.executor.step();
}

// Any part of a whole value arrives, whether it lies in one piece or not.
TEST_F(FakeAccelerated, PartsOfInputsArrive) {
  std::mt19937 random(7);
  const auto below = [&](int64_t count) { return static_cast<int64_t>(random() % static_cast<uint64_t>(count)); };
  OneRank one(job(1), *accelerator_);
  for (int round = 0; round < 200; ++round) {
    const Shape outer{8 + below(3) * below(4), 6 + below(2) * below(4)};
    const Array whole = random_array({DType::f64, outer}, static_cast<uint64_t>(round));
    const int64_t row = below(outer[0] - 7), column = below(outer[1] - 5);
    const Box part{{row, row + 8, outer[0]}, {column, column + 6, outer[1]}};
    Array expected({DType::f64, {8, 6}});
    copy_part(whole.tensor(), part, expected.data());
    if (round % 2 == 0) {
      one.executor.set_input("x", whole.tensor(), part);
    } else {
      one.stage().set_next_input("x", whole.tensor(), part);
      EXPECT_TRUE(one.executor.use_next_inputs());
    }
    EXPECT_TRUE(are_equal(one.value("x"), expected)) << row << " " << column;
  }
}

}  // namespace
}  // namespace partita
