// Trainings that go on from a checkpoint.

#include <gtest/gtest.h>

#include "data/readers/test_files.h"
#include "training/model.h"
#include "training/test_training.h"

namespace partita {
namespace {

namespace fs = std::filesystem;

JobConfig config_of(LrSchedule schedule) {
  JobConfig config = small_config(1);
  schedule.learning_rate = 0.01;
  config.schedule = schedule;
  return config;
}

struct Resumed {
  std::vector<double> rates;
  std::vector<EpochInfo> epochs;
  TrainingEnd end;
};

/// Trains to so many steps, from the newest checkpoint of the folder where there is one.
Resumed train_in(const std::string& run, JobConfig config, int64_t steps) {
  config.training.epochs = 4;
  config.training.steps = steps;
  Model model(small_network(), config, Place{.cores = 1});
  if (fs::exists(run)) model.resume(run);
  EventRecorder events;
  Resumed resumed;
  resumed.end = model.train(rows_of(Split::train),
                            {.callbacks = {&events}, .checkpoints = CheckpointOptions{.folder = run, .every = 5}});
  for (const StepInfo& step : events.steps) resumed.rates.push_back(step.learning_rate);
  resumed.epochs = events.epochs;
  return resumed;
}

// Seconds are of the steps that this process took, of an epoch that began in another one, too.
TEST(Resume, EpochsSayWhichStepsTheirSecondsAreOf) {
  JobConfig config = config_of({});
  for (int64_t stop = 1; stop < 2 * kSmallSteps; ++stop) {
    const TempDir dir;
    const std::string run = (dir.path() / "run").string();
    train_in(run, config, stop);
    const std::vector<EpochInfo> epochs = train_in(run, config, 2 * kSmallSteps).epochs;
    ASSERT_FALSE(epochs.empty());
    EXPECT_EQ(epochs[0].steps, kSmallSteps) << stop;
    EXPECT_EQ(epochs[0].steps_before, stop % kSmallSteps) << stop;
    for (size_t i = 1; i < epochs.size(); ++i) EXPECT_EQ(epochs[i].steps_before, 0) << stop;
  }
}

}  // namespace
}  // namespace partita
