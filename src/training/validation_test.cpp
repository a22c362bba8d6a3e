// Validations after a number of steps, the best checkpoint, and early stopping by them.

#include <gtest/gtest.h>

#include "base/test_refusal.h"
#include "frontend/data/readers/test_files.h"
#include "runtime/checkpoint/folder.h"
#include "runtime/checkpoint/reader.h"
#include "training/test_printed.h"
#include "training/test_training.h"

namespace partita {
namespace {

/// Records validations, and gives the values of a list as their "accuracy" to nobody: only what a training measures.
class ValidationRecorder : public Callback {
 public:
  std::vector<int64_t> steps;
  std::vector<Metrics> metrics;
  std::vector<bool> ends_epoch;
  std::vector<bool> of_epochs;  // whether each epoch had a validation
  void on_validation(const ValidationInfo& info) override {
    steps.push_back(info.global_step);
    metrics.push_back(info.metrics);
    ends_epoch.push_back(info.ends_epoch);
  }
  void on_epoch_end(const EpochInfo& info) override { of_epochs.push_back(info.validation.has_value()); }
};

std::set<int64_t> steps_in(const std::string& folder) {
  std::set<int64_t> steps;
  for (const FoundCheckpoint& one : list_checkpoints(folder)) steps.insert(one.manifest->position.step);
  return steps;
}

TEST(Validation, ComesAfterStepsNextToEpochs) {
  for (const int ranks : {1, 3}) {
    for (const bool after_epochs : {false, true}) {
      JobConfig config = small_config(ranks);
      config.training.validate_every = 3;
      config.training.validate = after_epochs;
      ValidationRecorder recorder;
      Model model(small_network(), config, Place{.cores = 1});
      model.train(
          rows_of(Split::train),  // epochs of 4 steps
          {.epochs = 3, .max_steps = 11, .callbacks = {&recorder}, .test = rows_of(Split::test), .prints = false});
      using Steps = std::vector<int64_t>;
      EXPECT_EQ(recorder.steps, after_epochs ? (Steps{3, 4, 6, 8, 9, 11}) : (Steps{3, 6, 9}));
      EXPECT_EQ(recorder.of_epochs, std::vector<bool>(3, after_epochs));
      for (size_t i = 0; i < recorder.steps.size(); ++i) {
        EXPECT_EQ(recorder.ends_epoch[i], after_epochs && (recorder.steps[i] % 4 == 0 || recorder.steps[i] == 11));
      }
      // A training of as many steps ends with the same metrics.
      Model shorter(small_network(), small_config(ranks), Place{.cores = 1});
      JobConfig same = config;
      same.schedule.steps = 11;
      Model until(small_network(), same, Place{.cores = 1});
      until.train(rows_of(Split::train), {.max_steps = 6, .test = rows_of(Split::test), .prints = false});
      const auto at_six = std::ranges::find(recorder.steps, 6) - recorder.steps.begin();
      EXPECT_NEAR(until.eval(rows_of(Split::test)).loss, recorder.metrics[static_cast<size_t>(at_six)].loss, 1e-12);
    }
  }
}

/// Takes one step of a far larger rate, which makes the weights worse for good.
class Spoiler : public Callback {
 public:
  explicit Spoiler(int64_t step) : step_(step) {}
  void on_train_begin(const TrainInfo& info) override {
    control_ = info.control;
    if (info.first_step == step_) control_->set_learning_rate(2);
  }
  void on_step_end(const StepInfo& info) override {
    if (info.global_step == step_) control_->set_learning_rate(2);
    if (info.global_step == step_ + 1) control_->set_learning_rate(0);
  }

 private:
  int64_t step_;
  TrainControl* control_ = nullptr;
};

JobConfig overshooting(int ranks, const std::string& folder) {
  JobConfig config = small_config(ranks);
  config.training.validate_every = 2;
  config.files.checkpoint = folder;
  config.files.checkpoint_keep = 2;
  config.files.checkpoint_every = 2;
  config.files.keep_best = "loss";
  config.schedule = {.kind = LrKind::constant, .learning_rate = 0.01};
  return config;
}

size_t best_of(const std::vector<Metrics>& metrics) {
  size_t best = 0;
  for (size_t i = 0; i < metrics.size(); ++i) {
    if (metrics[i].loss < metrics[best].loss) best = i;
  }
  return best;
}

TEST(Validation, TheBestCheckpointIsKeptAndRestored) {
  for (const auto& [ranks, restores] : {std::pair{1, true}, {2, false}, {4, true}, {3, true}}) {
    const TempDir folder;
    JobConfig config = overshooting(ranks, (folder.path() / "run").string());
    config.files.restore_best = restores;
    config.optimizer.ema = ranks == 3 ? 0.5 : 0;
    config.plan.options.zero.level = ranks == 4 ? 3 : 0;
    ValidationRecorder recorder;
    Spoiler rises(8);
    Model model(small_network(), config, Place{.cores = 1});
    const TrainingEnd end =
        model.train(rows_of(Split::train),
                    {.epochs = 5, .callbacks = {&recorder, &rises}, .test = rows_of(Split::test), .prints = false});
    const size_t best = best_of(recorder.metrics);
    ASSERT_LT(recorder.steps[best], 14) << "the rate does not overshoot";
    EXPECT_EQ(steps_in(config.files.checkpoint), (std::set<int64_t>{recorder.steps[best], 18, 20}));
    EXPECT_EQ(end.restored_step, restores ? recorder.steps[best] : -1);
    EXPECT_NEAR(end.test->loss, recorder.metrics[restores ? best : recorder.steps.size() - 1].loss, 1e-12);
    EXPECT_NEAR(model.eval(rows_of(Split::test)).loss, end.test->loss, 1e-12);
  }
}

TEST(Validation, AResumedTrainingKnowsTheBest) {
  const TempDir folder;
  JobConfig config = overshooting(2, (folder.path() / "run").string());
  config.files.restore_best = true;
  ValidationRecorder recorder;
  Model(small_network(), config, Place{.cores = 1})
      .train(rows_of(Split::train),
             {.max_steps = 8, .callbacks = {&recorder}, .test = rows_of(Split::test), .prints = false});
  const size_t best = best_of(recorder.metrics);
  config.ranks.count = 3;
  Spoiler rises(8);  // worse from here on
  config.files.resume = kLatestCheckpoint;
  ValidationRecorder later;
  Model second(small_network(), config, Place{.cores = 1});
  second.on_warning([](const std::string&) {});
  const TrainingEnd end =
      second.train(rows_of(Split::train),
                   {.max_steps = 20, .callbacks = {&later, &rises}, .test = rows_of(Split::test), .prints = false});
  ASSERT_GT(later.metrics[best_of(later.metrics)].loss, recorder.metrics[best].loss);
  EXPECT_EQ(end.restored_step, recorder.steps[best]);
  EXPECT_TRUE(steps_in(config.files.checkpoint).contains(recorder.steps[best]));
  EXPECT_NEAR(end.test->loss, recorder.metrics[best].loss, 1e-9);
}

TEST(Validation, PatienceCountsTestsOfTheMetric) {
  for (const int ranks : {1, 2}) {
    const TempDir folder;
    JobConfig config = overshooting(ranks, (folder.path() / "run").string());
    config.training.patience = 1;
    config.schedule.learning_rate = 0;  // no test is better than the first
    Printed print;
    {
      Model model(small_network(), config, Place{.cores = 1});
      const TrainingEnd end = model.train(rows_of(Split::train), {.epochs = 5, .test = rows_of(Split::test)});
      EXPECT_EQ(end.step, 6);
    }
    const std::string printed = print.text();
    EXPECT_NE(printed.find("stopped: no better than "), std::string::npos) << printed;
    EXPECT_NE(printed.find(" for 2 tests\n"), std::string::npos) << printed;
  }
}

TEST(Validation, ABestCheckpointThatIsGoneIsAWarning) {
  const TempDir folder;
  JobConfig config = overshooting(1, (folder.path() / "run").string());
  config.files.restore_best = true;
  config.files.checkpoint_async = Switch::off;
  std::vector<std::string> warnings;
  LambdaCallback removes;
  removes.step_end = [&](const StepInfo& info) {
    if (info.global_step == 8) std::filesystem::remove_all(config.files.checkpoint);
    if (info.global_step == 8) std::filesystem::create_directories(config.files.checkpoint);
  };
  config.schedule.learning_rate = 0;  // the first test is the best
  Model model(small_network(), config, Place{.cores = 1});
  model.on_warning([&](const std::string& text) { warnings.push_back(text); });
  const TrainingEnd end = model.train(
      rows_of(Split::train), {.max_steps = 8, .callbacks = {&removes}, .test = rows_of(Split::test), .prints = false});
  EXPECT_EQ(end.restored_step, -1);
  ASSERT_FALSE(warnings.empty());
  EXPECT_TRUE(warnings.back().starts_with("[--restore-best] the training ends with its last weights, got "))
      << warnings.back();
}

TEST(Validation, AWarmUpLongerThanTheTrainingIsSaid) {
  const auto printed_with = [](int64_t warm_up, std::optional<LearningRate> rate) {
    JobConfig config = small_config(1);
    config.console.quiet = false;
    config.schedule.warmup_steps = warm_up;
    const Printed print;
    Model model(small_network(), config, Place{.cores = 1});
    model.train(rows_of(Split::train), {.max_steps = 4, .learning_rate = std::move(rate)});
    return print.text();
  };
  const std::string note =
      "the training ends within its warm-up, after 4 of 8 steps: the learning rate rises to 0.005 of 0.01\n";
  EXPECT_NE(printed_with(8, std::nullopt).find(note), std::string::npos);
  EXPECT_EQ(printed_with(4, std::nullopt).find("warm-up"), std::string::npos);
  EXPECT_EQ(printed_with(8, 0.1).find("warm-up"), std::string::npos);
}

TEST(Validation, ALearningRateOfAProgramReplacesTheSchedule) {
  for (const int ranks : {1, 3}) {
    EventRecorder recorder;
    const LearningRate rate = piecewise({{0.1, 2}, {cosine_rate(0.2, 0, 4), 0}});
    Model model = small_model(ranks);
    model.train(rows_of(Split::train),
                {.max_steps = 6, .callbacks = {&recorder}, .learning_rate = rate, .prints = false});
    ASSERT_EQ(recorder.steps.size(), 6);
    for (size_t i = 0; i < 6; ++i) EXPECT_EQ(recorder.steps[i].learning_rate, rate.at(static_cast<int64_t>(i)));
  }
}

TEST(Validation, RefusesWhatHasNoEffect) {
  const auto refusal = [](const std::function<void(JobConfig&)>& change) {
    JobConfig config = small_config(1);
    change(config);
    return refusal_of([&] {
      Model(small_network(), config, Place{.cores = 1}).train(rows_of(Split::train), {.max_steps = 1, .prints = false});
    });
  };
  const TempDir folder;
  const std::string run = (folder.path() / "run").string();
  EXPECT_EQ(refusal([](JobConfig& config) { config.files.keep_best = "loss"; }),
            "[Model] files.keep_best has no effect, got no files.checkpoint, expected files.checkpoint = DIR");
  EXPECT_EQ(refusal([&](JobConfig& config) {
              config.files.keep_best = "loss";
              config.files.checkpoint = run;
            }),
            "[Model] files.keep_best has no effect, got no test while it trains, expected training.validate = true or "
            "training.validate_every = N");
  EXPECT_EQ(refusal([&](JobConfig& config) { config.files.restore_best = true; }),
            "[Model] files.restore_best has no effect, got no files.keep_best, expected files.keep_best = loss");
  EXPECT_EQ(refusal([&](JobConfig& config) { config.training.validate_every = 2; }),
            "[Model] training.validate_every has no effect, got no rows to validate on, expected "
            "FitOptions::validation, FitOptions::test or data.source");
  EXPECT_TRUE(refusal([&](JobConfig& config) {
                config.files.keep_best = "los";
                config.files.checkpoint = run;
                config.training.validate_every = 2;
              }).starts_with("[--keep-best] unknown name, got 'los'"));
  EXPECT_TRUE(refusal([&](JobConfig& config) {
                config.evaluation.metrics = {"mae,f2"};
              }).starts_with("[--metrics] unknown name, got 'f2'"));
  EXPECT_EQ(refusal([&](JobConfig& config) { config.files.save_averages = true; }),
            "[Model] files.save_averages has no effect, got no files.save, expected files.save = FILE");
  EXPECT_EQ(refusal([&](JobConfig& config) {
              config.files.save_averages = true;
              config.files.save = run;
            }),
            "[Model] files.save_averages has no effect, got optimizer.ema = 0, expected optimizer.ema = 0.999");
  EXPECT_EQ(refusal([&](JobConfig& config) { config.files.load_averages = true; }),
            "[Model] files.load_averages has no effect, got no files.load, expected files.load = DIR");
}

}  // namespace
}  // namespace partita
