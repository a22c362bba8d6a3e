// Values of stages go from device to device. Trainings by a plugin that computes run if PARTITA_PJRT_PLUGIN names one
// (tools/xla/get_plugin.sh).

#include <gtest/gtest.h>

#include <random>

#include "support/fake_accelerated.h"
#include "support/needs_plugin.h"

namespace partita {
namespace {

class FakeMail : public FakeAccelerated {
 protected:
  /// Two stages of a rank each.
  Job staged(int64_t micro_batches) {
    Job gpt = model_job("gpt:layers=2,hidden=8,heads=2,seq=6,vocab=12", {.batch = 16, .steps = 2});
    gpt.device = [this](int threads, KernelSet) {  // each of two ranks has one
      return make_device(all_ops(), next_++ % 2 == 0 ? *accelerator_ : *second_, threads);
    };
    gpt.ranks = 2;
    gpt.micro_batches = micro_batches;
    gpt.pipeline = {.stages = 2, .order = Order::one_forward_one_backward};
    return gpt;
  }
  int calls(Function function) const {
    const auto found = fake_->calls.find(function);
    return found == fake_->calls.end() ? 0 : found->second;
  }
};

TEST_F(FakeMail, WhatComesToTheHostDoesNotDependOnMicroBatches) {
  std::vector<int> downloads, copies;
  for (const int64_t micro_batches : {2, 4, 8}) {
    start();
    run_job(staged(micro_batches));
    downloads.push_back(calls(Function::buffer_to_host));
    copies.push_back(calls(Function::buffer_copy_to_device));
    ASSERT_EQ(fake_->copies.size(), 2) << "to each of the devices";
    for (const auto& [devices, count] : fake_->copies) EXPECT_NE(devices.first, devices.second) << count;
  }
  EXPECT_EQ(downloads[0], downloads[1]);
  EXPECT_EQ(downloads[1], downloads[2]);
  EXPECT_GE(copies[0], 2 * 2 * 2) << "an activation and its gradient, in two steps of two micro-batches";
  EXPECT_EQ(copies[2] - copies[1], 2 * (copies[1] - copies[0]));
}

TEST_F(FakeMail, APluginWithoutCopiesSendsThroughTheHost) {
  run_job(staged(4));
  const int direct = calls(Function::buffer_to_host), copies = calls(Function::buffer_copy_to_device);
  start();
  fake_->remove(Function::buffer_copy_to_device);
  run_job(staged(4));
  EXPECT_EQ(calls(Function::buffer_to_host), direct + copies - 1) << "the host has the table before the first step";
  EXPECT_EQ(calls(Function::buffer_copy_to_device), 0);
}

TEST_F(FakeMail, RanksThatShareADeviceSendThroughTheHost) {
  Job job = staged(4);
  on_fake(job);
  run_job(job);
  EXPECT_EQ(calls(Function::buffer_copy_to_device), 0);
}

TEST_F(FakeMail, ACopyThatFailsNamesItsValueAndItsRanks) {
  for (const ErrorCode code : {ErrorCode::resource_exhausted, ErrorCode::unavailable, ErrorCode::invalid_argument}) {
    for (int call = 1; call <= 6; ++call) {
      start();
      fake_->failing[Function::buffer_copy_to_device] = code;
      fake_->failing_call[Function::buffer_copy_to_device] = call;
      const auto [message, exit] = failure_of([&] { run_job(staged(4)); });
      EXPECT_EQ(exit, code == ErrorCode::resource_exhausted ? ExitCode::out_of_memory
                      : code == ErrorCode::unavailable      ? ExitCode::peer_lost
                                                            : ExitCode::internal)
          << call << ": " << message;
      EXPECT_TRUE(has(message, "add") || has(message, ": as the test wants: wte.weight, ")) << message;
      EXPECT_TRUE(has(message, ", which goes to the device of rank 1 on stage 0 on rank 0") ||
                  has(message, ", which goes to the device of rank 0 on stage 1 on rank 1"))
          << message;
    }
  }
}

TEST_F(FakeMail, AProgramThatFailsLateIsNamed) {
  run_job(staged(2));
  const int runs = calls(Function::loaded_executable_execute);
  for (int call = 1; call <= runs; ++call) {
    start();
    fake_->failing_later[Function::loaded_executable_execute] = ErrorCode::internal;
    fake_->failing_call[Function::loaded_executable_execute] = call;
    const auto [message, exit] = failure_of([&] { run_job(staged(2)); });
    EXPECT_EQ(exit, ExitCode::peer_lost) << message;
    EXPECT_TRUE(has(message, "in the program of ")) << call << ": " << message;
  }
}

class MailOfAPlugin : public NeedsPlugin {};

TEST_F(MailOfAPlugin, RandomPipelinesTrainAsOneRank) {
  std::mt19937 random(11);
  const auto draw = [&](std::initializer_list<int64_t> from) { return from.begin()[random() % from.size()]; };
  for (int i = 0; i < 6; ++i) {
    Job job =
        model_job(fmt::format("gpt:layers={},hidden=8,heads=2,seq=6,vocab=12", draw({2, 3})), {.batch = 8, .steps = 3});
    const JobResult oracle = interpret_job(job);
    const auto stages = static_cast<int>(draw({2, 3}));
    job.ranks = stages * static_cast<int>(draw({1, 2}));
    if (!can_run(job.ranks)) continue;
    job.device_name = "xla:cpu";
    job.collectives = CollectiveMode::whole;  // each rank has a device of its own
    job.micro_batches = draw({1, 2, 4});
    job.pipeline = {.stages = stages,
                    .order = draw({0, 1}) == 0 ? Order::one_forward_one_backward : Order::zero_bubble};
    job.zero = {.level = draw({0, 1, 3}), .threshold = 0};
    const std::string text =
        fmt::format("{} stages on {} ranks, {} micro-batches", stages, job.ranks, job.micro_batches);
    expect_same_training(run_job(job), oracle, 1e-9, text);
  }
}

}  // namespace
}  // namespace partita
