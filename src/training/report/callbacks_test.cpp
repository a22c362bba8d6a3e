#include "training/report/callbacks.h"

#include <gtest/gtest.h>

#include <sstream>

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

TEST(Callbacks, LambdaCallsWhatIsThere) {
  LambdaCallback callback;
  callback.on_train_end();
  int64_t steps = 0;
  callback.step_end = [&](const StepInfo& info) { steps = info.step; };
  callback.on_step_end({.step = 5});
  EXPECT_EQ(steps, 5);
}

}  // namespace
}  // namespace partita
