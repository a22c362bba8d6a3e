// Samples of a training that is stopped and resumed on other ranks: each is seen once per epoch.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <filesystem>
#include <functional>
#include <sstream>

#include "frontend/data/readers/memory_rows.h"
#include "frontend/data/readers/test_files.h"
#include "frontend/data/views/shuffle.h"
#include "frontend/network/functions.h"
#include "frontend/network/initializers.h"
#include "training/model.h"

namespace partita {
namespace {

constexpr int64_t kSamples = 48, kSamplesOfBatch = 12;

/// Sample i is the number 2^i, so the sum of a batch shows its samples.
DatasetPtr powers_of_two() {
  std::vector<double> numbers;
  for (int64_t i = 0; i < kSamples; ++i) numbers.push_back(std::ldexp(1.0, static_cast<int>(i)));
  return shuffle(memory_rows({{"number", Array({kSamples, 1}, numbers)}}), /*seed=*/4);
}

/// A network whose loss is the mean of a batch's numbers. The learning rate is 0, so its parameter stays 1.
Network mean_of_numbers() {
  const auto forward = [](Context& context, Columns& rows) -> NamedValues {
    const Value one = context.parameter("one", {1, 1}, constant_initializer(1));
    return {{"number", matmul(rows.at("number"), one)}};
  };
  const auto loss = [](Context&, Columns&, const NamedValues& out) -> NamedValues {
    return {{"loss", reduce_mean(find_output(out, "number"))}};
  };
  return {"mean", forward, loss};
}

struct SeenSamples : Callback {
  std::vector<uint64_t> batches;  // bit i: sample i
  void on_step_end(const StepInfo& info) override {
    batches.push_back(static_cast<uint64_t>(std::llround(info.loss * kSamplesOfBatch)));
  }
};

/// Trains to `steps` on `ranks`, resumed from `folder` if it exists.
void train_to(int64_t steps, int ranks, const std::string& folder, SeenSamples& seen) {
  JobConfig config{.training = {.batch = kSamplesOfBatch, .epochs = 5, .steps = steps, .dtype = DType::f64},
                   .optimizer = {.kind = OptimizerKind::sgd},
                   .schedule = {.learning_rate = 0},
                   .ranks = {.count = ranks, .threads = 1}};
  Model model(mean_of_numbers(), config, Place{.cores = 1});
  if (std::filesystem::exists(folder)) model.resume(folder);
  model.train(powers_of_two(), {.callbacks = {&seen}, .checkpoints = CheckpointOptions{.folder = folder}});
}

TEST(DataPosition, SamplesAreNeitherLostNorSeenTwiceOnOtherRanks) {
  const TempDir folder;
  SeenSamples never_stopped, stopped;
  train_to(20, 1, (folder.path() / "one").string(), never_stopped);
  const std::string run = (folder.path() / "run").string();
  for (const auto& [steps, ranks] : {std::pair{3, 4}, {6, 6}, {7, 1}, {13, 3}, {14, 12}, {20, 2}}) {
    train_to(steps, ranks, run, stopped);
  }
  EXPECT_EQ(stopped.batches, never_stopped.batches);
  ASSERT_EQ(stopped.batches.size(), 20u);
  constexpr size_t kSteps = kSamples / kSamplesOfBatch;
  for (size_t epoch = 0; epoch < 5; ++epoch) {
    uint64_t all = 0;
    for (size_t step = epoch * kSteps; step < (epoch + 1) * kSteps; ++step) {
      EXPECT_EQ(std::popcount(stopped.batches[step]), kSamplesOfBatch);
      EXPECT_EQ(all & stopped.batches[step], 0u) << "seen twice";
      all |= stopped.batches[step];
    }
    EXPECT_EQ(std::popcount(all), kSamples) << "epoch " << epoch;
  }
  EXPECT_NE(stopped.batches[0], stopped.batches[4]) << "another order in each epoch";
}

/// Early stopping keeps its count.
TEST(DataPosition, WhatCallbacksKeepGoesOn) {
  const TempDir folder;
  const std::string run = (folder.path() / "run").string();
  std::function<double(const EpochInfo&)> monitor;
  const auto stopped_at = [&](const std::vector<int64_t>& stops) {
    std::filesystem::remove_all(run);
    int64_t step = 0;
    for (const int64_t steps : stops) {
      std::ostringstream out;
      EarlyStopping stopping({.patience = 2, .min_delta = 1, .monitor = monitor}, out);
      JobConfig config{.training = {.batch = kSamplesOfBatch, .epochs = 9, .steps = steps, .dtype = DType::f64},
                       .optimizer = {.kind = OptimizerKind::sgd},
                       .schedule = {.learning_rate = 0},
                       .ranks = {.count = 1, .threads = 1}};
      Model model(mean_of_numbers(), config, Place{.cores = 1});
      if (std::filesystem::exists(run)) model.resume(run);
      step = model.train(powers_of_two(), {.callbacks = {&stopping}, .checkpoints = CheckpointOptions{.folder = run}})
                 .step;
    }
    return step;
  };
  // The loss of every epoch is the same, so the second, third and fourth do not improve on the first.
  EXPECT_EQ(stopped_at({0}), 16);
  EXPECT_EQ(stopped_at({6, 13, 0}), 16) << "in the middle of epochs";
  // A resumed epoch counts once.
  monitor = [](const EpochInfo&) { return 1.0; };
  EXPECT_EQ(stopped_at({0}), 16);
  EXPECT_EQ(stopped_at({6, 7, 13, 0}), 16);
}

}  // namespace
}  // namespace partita
