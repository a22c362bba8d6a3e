// Gradients of micro-batches that are added up and not averaged: as many times the mean as there are micro-batches.

#include <gtest/gtest.h>

#include "base/philox.h"
#include "frontend/data/readers/generated_rows.h"
#include "frontend/data/readers/test_files.h"
#include "frontend/network/layers/layers.h"
#include "runtime/checkpoint/weights.h"
#include "training/model.h"

namespace partita {
namespace {

constexpr int64_t kLossRows = 48, kLossBatch = 24;

DatasetPtr random_features() {
  const std::vector<Column> columns{{"x", {DType::f64, {7}}}, {"label", {DType::i32, {}}}};
  return generated_rows(columns, kLossRows, [](int64_t, int64_t index, std::span<const Tensor> row) {
    for (int64_t i = 0; i < 7; ++i) row[0].as<double>()[i] = random_normal(31, static_cast<uint64_t>(index * 7 + i), 0);
    row[1].as<int32_t>()[0] = static_cast<int32_t>(random_below(32, static_cast<uint64_t>(index), 0, 5)) - 1;
  });
}

struct Trained {
  std::vector<double> losses;
  std::map<std::string, Array> weights;
};

/// Two steps of a network of four classes, in which the label -1 counts for nothing.
Trained train_summed(MicroLoss micro_loss, int64_t micro_batches, double rate, OptimizerOptions optimizer,
                     int ranks = 1, int64_t stages = 1) {
  const TempDir folder;
  const std::string path = (folder.path() / "weights").string();
  const auto layers = sequential({dense(12), op_layer("relu"), dense(4)});
  JobConfig config{.training = {.batch = kLossBatch, .dtype = DType::f64, .micro_loss = micro_loss},
                   .optimizer = optimizer,
                   .schedule = {.kind = LrKind::constant, .learning_rate = rate},
                   .ranks = {.count = ranks, .threads = 1, .kernels = KernelSet::reference}};
  config.plan.options.micro_batches = micro_batches;
  config.plan.options.pipeline.stages = stages;
  Model model(Network("summed", layers, Loss::sparse, {.ignore_index = -1}), config, Place{.cores = 1});
  Trained trained;
  LambdaCallback keep;
  keep.step_end = [&](const StepInfo& info) { trained.losses.push_back(info.loss); };
  model.train(random_features(), {.callbacks = {&keep}});
  model.save(path);
  trained.weights = load_weights(path);
  return trained;
}

void expect_same_losses(const Trained& got, const Trained& expected, const std::string& what,
                        double tolerance = 1e-10) {
  ASSERT_EQ(got.losses.size(), expected.losses.size()) << what;
  for (size_t step = 0; step < got.losses.size(); ++step) {
    EXPECT_NEAR(got.losses[step], expected.losses[step], tolerance) << what;
  }
  for (const auto& [name, value] : expected.weights) {
    const Array& own = got.weights.at(name);
    for (int64_t i = 0; i < value.type().elements(); ++i)
      ASSERT_NEAR(own.at(i), value.at(i), tolerance) << what << name;
  }
}

TEST(MicroLoss, TheSumIsSoManyTimesTheMean) {
  const OptimizerOptions sgd{.kind = OptimizerKind::sgd}, momentum{.kind = OptimizerKind::momentum, .momentum = 0.9};
  for (const OptimizerOptions& optimizer : {sgd, momentum}) {
    for (const int64_t count : {2, 3, 4}) {
      const Trained mean = train_summed(MicroLoss::mean, 1, 0.02 * static_cast<double>(count), optimizer);
      for (const auto& [ranks, stages] : {std::pair{1, 1}, {2, 1}, {2, 2}, {4, 2}}) {
        const std::string what = fmt::format("{} micro-batches, {} ranks, {} stages ", count, ranks, stages);
        expect_same_losses(train_summed(MicroLoss::sum, count, 0.02, optimizer, ranks, stages), mean, what);
        if (HasFailure()) return;
      }
    }
  }
}

// Clipping sees the sum: it takes the norm of the mean to a quarter. It divides by the norm and a millionth.
TEST(MicroLoss, ClippingSeesTheSum) {
  const OptimizerOptions wide{.kind = OptimizerKind::sgd, .clip_norm = 0.4};
  OptimizerOptions narrow = wide;
  narrow.clip_norm = 0.1;
  expect_same_losses(train_summed(MicroLoss::sum, 4, 0.05, wide), train_summed(MicroLoss::mean, 4, 0.2, narrow),
                     "clipped ", 1e-6);
}

TEST(MicroLoss, OneMicroBatchIsRefused) {
  try {
    train_summed(MicroLoss::sum, 1, 0.05, {.kind = OptimizerKind::sgd});
    ADD_FAILURE() << "accepted";
  } catch (const InvalidArgument& error) {
    EXPECT_STREQ(error.what(),
                 "[--micro-loss sum] has no effect, got --micro-batches 1, expected 2 micro-batches or more, or "
                 "--micro-loss mean");
  }
}

}  // namespace
}  // namespace partita
