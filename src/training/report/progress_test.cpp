#include "training/report/progress.h"

#include <gtest/gtest.h>

#include <sstream>

namespace partita {
namespace {

TEST(ProgressLine, ShowsWhereTheTrainingIs) {
  std::ostringstream out;
  ProgressLine line(out, [] { return size_t{200}; });
  line.on_train_begin({.epochs = 2, .steps_per_epoch = 100, .steps = 200});
  line.on_step_end({.epoch = 1, .step = 5, .global_step = 5, .loss = 1.25, .seconds = 0.5, .samples = 32});
  EXPECT_EQ(out.str(), "\r\033[Kepoch 1/2 step 5/100 loss 1.2500 64 samples/s 1:38 left");
  line.on_step_end({.epoch = 1, .step = 6, .global_step = 6});  // too soon after the last draw
  EXPECT_EQ(out.str().find("step 6"), std::string::npos);
  line.on_step_end({.epoch = 2, .step = 100, .global_step = 200, .loss = 1, .seconds = 0.5, .samples = 32});
  EXPECT_NE(out.str().find("step 100/100"), std::string::npos);  // the last step is always drawn
}

TEST(ProgressLine, EpochsStay) {
  std::ostringstream out;
  ProgressLine line(out, [] { return size_t{200}; });
  line.on_train_begin({.epochs = 2, .steps_per_epoch = 100, .steps = 200});
  line.on_epoch_end({.epoch = 1, .seconds = 3725, .loss = 0.5, .validation = Metrics{.samples = 4, .correct = 3}});
  EXPECT_EQ(out.str(), "\r\033[Kepoch 1/2 mean loss 0.5000 test accuracy 0.7500 in 1:02:05\n");
}

TEST(ProgressLine, FitsANarrowTerminal) {
  std::ostringstream out;
  ProgressLine line(out, [] { return size_t{20}; });
  line.on_train_begin({.epochs = 2, .steps_per_epoch = 100, .steps = 200});
  line.on_step_end({.epoch = 1, .step = 5, .global_step = 5, .loss = 1.25, .seconds = 0.5, .samples = 32});
  EXPECT_EQ(out.str(), "\r\033[Kepoch 1/2 step 5/10");
}

TEST(ProgressLine, CountsTheStepsThatAreTaken) {
  std::ostringstream out;
  ProgressLine line(out, [] { return size_t{80}; });
  line.on_train_begin({.epochs = 2, .steps_per_epoch = 100, .steps = 120});  // --steps 120
  line.on_step_end({.epoch = 2, .step = 20, .global_step = 120, .loss = 1.25, .seconds = 0.5, .samples = 32});
  EXPECT_NE(out.str().find("epoch 2/2 step 20/20 "), std::string::npos) << out.str();
}

TEST(DrawnEvaluation, SaysHowFarItIsAndLeavesNothing) {
  std::ostringstream out;
  const EvaluationProgress progress = drawn_evaluation(out);
  progress(256, 1000);
  EXPECT_EQ(out.str(), "\r\033[Ktested 256 of 1000 rows");
  progress(1000, 1000);
  EXPECT_TRUE(out.str().ends_with("\r\033[K"));
}

}  // namespace
}  // namespace partita
