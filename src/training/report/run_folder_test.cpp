#include "training/report/run_folder.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/test_refusal.h"
#include "frontend/data/readers/test_files.h"
#include "training/runs/run_record.h"
#include "training/test_training.h"

namespace partita {
namespace {

JobConfig recorded_config(const TempDir& folder, int ranks) {
  JobConfig config = small_config(ranks);
  config.files.run = (folder.path() / "runs/first").string();
  return config;
}

TEST(RunFolder, RecordsATrainingOnAnyNumberOfRanks) {
  for (const int ranks : {1, 2, 3, 4, 6, 8}) {
    const TempDir folder;
    JobConfig config = recorded_config(folder, ranks);
    config.files.checkpoint = config.files.run + "/checkpoints";
    config.files.checkpoint_every = 2;
    config.files.checkpoint_async = Switch::off;
    Model model(small_network(), config, Place{.cores = 1});
    std::vector<std::string> warnings;
    model.on_warning([&](const std::string& text) { warnings.push_back(text); });
    model.train(rows_of(Split::train), {.epochs = 2, .validation = rows_of(Split::test), .test = rows_of(Split::test)});
    const RunRecord run = read_run(config.files.run);
    EXPECT_EQ(run.ranks, ranks);
    ASSERT_EQ(run.steps.size(), static_cast<size_t>(2 * kSmallSteps));
    EXPECT_EQ(run.validations.size(), 2U);
    EXPECT_EQ(run.planned_steps, 2 * kSmallSteps);
    EXPECT_EQ(run.end_reason, "");
    EXPECT_GT(run.seconds, 0);
    EXPECT_GT(run.test_loss, 0);
    EXPECT_GT(run.steps[0].memory, 1e6);
    EXPECT_GT(run.parameters, 64 * 16);
    EXPECT_GT(run.rank_memory, 1000);
    ASSERT_TRUE(run.predicted.has_value());
    EXPECT_EQ(run.predicted->cluster, "cpu");
    EXPECT_GT(run.predicted->step, 0);
    EXPECT_GE(run.predicted->step, run.predicted->compute);
    int64_t steps = 0;
    for (const LoggedTimes& times : run.times) {
      steps += times.steps;
      EXPECT_EQ(times.busy.size(), static_cast<size_t>(ranks));
      for (const double one : times.busy) EXPECT_GT(one, 0);
    }
    EXPECT_EQ(steps, 2 * kSmallSteps);
    ASSERT_EQ(run.checkpoints.size(), 4U);
    EXPECT_EQ(run.checkpoints[1].step, 4);
    EXPECT_TRUE(std::filesystem::exists(run.checkpoints[1].path));
    EXPECT_EQ(run.warnings.size(), warnings.size());
    EXPECT_TRUE(std::ranges::find(run.settings, std::pair<std::string, std::string>("training.batch", "24")) !=
                run.settings.end());
  }
}

TEST(RunFolder, AResumedTrainingGoesOnInItsFolder) {
  const TempDir folder;
  JobConfig config = recorded_config(folder, 2);
  config.schedule.steps = 8;
  config.files.checkpoint = (folder.path() / "kept").string();
  config.files.checkpoint_every = 3;
  const auto train = [&](int64_t steps, int ranks) {
    config.ranks.count = ranks;
    Model model(small_network(), config, Place{.cores = 1});
    model.train(rows_of(Split::train), {.epochs = 9, .max_steps = steps});
  };
  train(4, 2);
  config.files.resume = (folder.path() / "kept/step_3").string();
  train(7, 4);
  const RunRecord run = read_run(config.files.run);
  ASSERT_EQ(run.steps.size(), 7U);
  for (size_t i = 0; i < 7; ++i) EXPECT_EQ(run.steps[i].step, static_cast<int64_t>(i) + 1);
  ASSERT_EQ(run.starts.size(), 2U);
  EXPECT_EQ(run.starts[1].first_step, 3);
  EXPECT_EQ(run.ranks, 4);
  for (size_t i = 1; i < run.times.size(); ++i) EXPECT_GT(run.times[i].step, run.times[i - 1].step);
}

TEST(RunFolder, AFailingTrainingSaysWhy) {
  const TempDir folder;
  const JobConfig config = recorded_config(folder, 2);
  Model model(small_network(), config, Place{.cores = 1});
  class Failing : public Callback {
   public:
    void on_step_end(const StepInfo& info) override {
      if (info.global_step == 2) throw InvalidArgument("[mine] the user's <error>");
    }
  } failing;
  EXPECT_THROW(model.train(rows_of(Split::train), {.epochs = 1, .callbacks = {&failing}}), InvalidArgument);
  const RunRecord run = read_run(config.files.run);
  ASSERT_TRUE(run.end_reason.has_value());
  EXPECT_EQ(*run.end_reason, "[mine] the user's <error>");
  EXPECT_EQ(run.steps.size(), 2U);
}

TEST(RunFolder, AnotherTrainingIsRefusedAndLosesNothing) {
  const TempDir folder;
  const JobConfig config = recorded_config(folder, 1);
  const auto train = [&] {
    Model(small_network(), config, Place{.cores = 1}).train(rows_of(Split::train), {.epochs = 1});
  };
  train();
  EXPECT_EQ(refusal_of(train), "[--run] this folder holds a run already, got " + config.files.run +
                                   ", expected a new folder, or --resume");
  EXPECT_EQ(read_run(config.files.run).steps.size(), static_cast<size_t>(kSmallSteps));
}

TEST(RunFolder, AnUnknownClusterIsRefused) {
  const TempDir folder;
  JobConfig config = recorded_config(folder, 1);
  config.files.cluster = "no-such-cluster";
  Model model(small_network(), config, Place{.cores = 1});
  EXPECT_THROW(model.train(rows_of(Split::train), {.epochs = 1}), Error);
}

TEST(RunFolder, AFullDiskIsOneWarning) {
  const TempDir folder;
  const JobConfig config = recorded_config(folder, 1);
  std::filesystem::create_directories(config.files.run);
  std::filesystem::create_symlink("/dev/full", events_of_run(config.files.run));
  std::vector<std::string> warnings;
  Model model(small_network(), config, Place{.cores = 1});
  model.on_warning([&](const std::string& text) { warnings.push_back(text); });
  model.train(rows_of(Split::train), {.epochs = 1});
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings[0].find("events.jsonl: No space left on device; the training continues without it"),
            std::string::npos)
      << warnings[0];
}

}  // namespace
}  // namespace partita
