#include "training/report/callbacks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "base/test_refusal.h"

namespace partita {
namespace {

TEST(Callbacks, LossMonitorPrintsTheDocumentedLine) {
  std::ostringstream out;
  LossMonitor monitor(out, 2);
  for (int64_t step = 1; step <= 4; ++step) {
    monitor.on_step_end({.epoch = 2, .step = step, .global_step = 4 + step, .loss = 0.1f * static_cast<float>(step)});
  }
  EXPECT_EQ(out.str(), "epoch: 2 step: 2, loss is 0.2\nepoch: 2 step: 4, loss is 0.4\n");
}

TEST(Callbacks, LossMonitorPrintsTheLastStepIfAsked) {
  std::ostringstream out;
  LossMonitor monitor(out, 2, /*and_last=*/true);
  monitor.on_train_begin({.steps = 3});
  for (int step = 1; step <= 3; ++step) {
    monitor.on_step_end({.epoch = 1, .step = step, .global_step = step, .loss = 0.1 * step});
  }
  EXPECT_EQ(out.str(), "epoch: 1 step: 2, loss is 0.2\nepoch: 1 step: 3, loss is 0.30000000000000004\n");
}

TEST(Callbacks, LossMonitorKeepsAllDigitsOfF64) {
  std::ostringstream out;
  LossMonitor monitor(out);
  monitor.on_step_end({.loss = 0.1});
  EXPECT_EQ(out.str(), "epoch: 1 step: 1, loss is 0.1\n");
  monitor.on_step_end({.loss = 0.12345678901234567});
  EXPECT_NE(out.str().find("0.12345678901234566"), std::string::npos);
}

TEST(Callbacks, ZeroPrintsNothing) {
  std::ostringstream out;
  LossMonitor(out, 0).on_step_end({});
  EXPECT_EQ(out.str(), "");
}

TEST(Callbacks, TimeMonitor) {
  std::ostringstream out;
  TimeMonitor(out).on_epoch_end({.epoch = 1, .steps = 4, .seconds = 0.5});
  EXPECT_EQ(out.str(), "epoch time: 500.000 ms, per step time: 125.000 ms\n");
  out.str("");
  TimeMonitor(out).on_epoch_end({.epoch = 1, .steps = 4, .seconds = 0.5, .exposed_communication = 0.1});
  EXPECT_EQ(out.str(), "epoch time: 500.000 ms, per step time: 125.000 ms, exposed communication: 25.000 ms\n");
  // 6 of the 10 steps were taken before the training was resumed.
  out.str("");
  TimeMonitor(out).on_epoch_end(
      {.epoch = 1, .steps = 10, .steps_before = 6, .seconds = 0.5, .exposed_communication = 0.1});
  EXPECT_EQ(out.str(), "epoch time: 500.000 ms, per step time: 125.000 ms, exposed communication: 25.000 ms\n");
  out.str("");
  TimeMonitor(out).on_epoch_end({.epoch = 1, .steps = 10, .steps_before = 10, .seconds = 0});
  EXPECT_EQ(out.str(), "epoch time: 0.000 ms, per step time: 0.000 ms\n") << "nothing was left to train";
}

TEST(Callbacks, ValidationMonitorPrintsWhatWasTested) {
  std::ostringstream out;
  ValidationMonitor monitor(out);
  monitor.on_epoch_end({.epoch = 1});
  monitor.on_epoch_end({.epoch = 2, .validation = Metrics{.samples = 4, .correct = 1, .loss = 0.5}});
  EXPECT_EQ(out.str(), "epoch: 2, test loss is 0.5000, test accuracy is 0.2500\n");
}

TEST(Callbacks, ValidationMonitorPrintsStepsAndMetrics) {
  std::ostringstream out;
  ValidationMonitor monitor(out);
  const Metrics found{.samples = 4, .correct = 1, .loss = 0.5, .measured = {{"r2", 0.25, false}}};
  monitor.on_validation({.epoch = 2, .step = 7, .global_step = 17, .metrics = found});
  monitor.on_validation({.epoch = 2, .step = 10, .global_step = 20, .ends_epoch = true, .metrics = found});
  EXPECT_EQ(out.str(), "epoch: 2 step: 7, test loss is 0.5000, test accuracy is 0.2500, test r2 is 0.2500\n");
}

TEST(Callbacks, TheBestCheckpointIsThatOfTheBestMetric) {
  const auto asked = [](const std::string& metric, const std::vector<double>& values, const std::string& restored) {
    TrainControl control;
    BestCheckpoint best(metric);
    best.on_train_begin({.control = &control});
    if (!restored.empty()) best.restore(restored);
    std::vector<int64_t> steps;
    for (size_t i = 0; i < values.size(); ++i) {
      const Metrics found{.classified = false, .loss = values[i], .measured = {{"r2", values[i], false}}};
      best.on_validation({.global_step = static_cast<int64_t>(i) + 11, .metrics = found});
      if (control.take_best()) steps.push_back(control.best_step());
    }
    steps.push_back(control.best_step());
    BestCheckpoint again(metric);
    again.on_train_begin({.control = &control});
    again.restore(best.saved());
    EXPECT_EQ(again.saved(), best.saved());
    return steps;
  };
  using Steps = std::vector<int64_t>;
  EXPECT_EQ(asked("loss", {3, 2, 2, NAN, 4, 1}, ""), (Steps{11, 12, 16, 16}));
  EXPECT_EQ(asked("r2", {3, 2, 2, NAN, 4, 1}, ""), (Steps{11, 15, 15}));
  EXPECT_EQ(asked("r2", {3, 2, 5}, "7 4"), (Steps{13, 13}));
  EXPECT_EQ(asked("loss", {3, 2, 5}, "7 1"), (Steps{7}));
  EXPECT_EQ(asked("loss", {NAN}, ""), (Steps{-1}));
  for (const char* text : {"", "7", "x 1", "7 x", "-2 1", "7 nan"}) {
    TrainControl control;
    BestCheckpoint best("loss");
    best.on_train_begin({.control = &control});
    EXPECT_EQ(refusal_of<InvalidFile>([&] { best.restore(text); }),
              fmt::format("[keep best] not a state from a checkpoint, got '{}', expected a step and a number", text));
  }
}

TEST(Callbacks, EarlyStoppingByAMetricCountsTests) {
  for (const auto& [metric, stops] : {std::pair{"loss", 5}, {"r2", 3}}) {
    std::ostringstream out;
    TrainControl control;
    EarlyStopping stopping({.patience = 1, .metric = metric}, out);
    stopping.on_train_begin({.control = &control});
    const double values[] = {3, 2, 1, 2, 2, 0};
    int64_t tests = 0;
    for (; tests < 6 && !control.stopped(); ++tests) {
      const Metrics found{.loss = values[tests], .measured = {{"r2", values[tests], false}}};
      stopping.on_validation({.epoch = 4, .metrics = found});
      stopping.on_epoch_end({.epoch = 4});
    }
    EXPECT_EQ(tests, stops);
    EXPECT_EQ(out.str(), fmt::format("epoch: 4, stopped: no better than {} for 2 tests\n", stops == 5 ? 1 : 3));
  }
}

TEST(Callbacks, LambdaCallsWhatIsThere) {
  LambdaCallback callback;
  const Metrics none;
  callback.on_validation({.metrics = none});
  callback.on_train_end();
  int64_t steps = 0;
  callback.step_end = [&](const StepInfo& info) { steps = info.step; };
  callback.on_step_end({.step = 5});
  EXPECT_EQ(steps, 5);
}

}  // namespace
}  // namespace partita
