// Length of a training, the steps left when it is resumed, and locks on the files that it writes.

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <sstream>

#include "frontend/data/readers/test_files.h"
#include "runtime/checkpoint/folder.h"
#include "training/model.h"
#include "training/report/jsonl.h"
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

/// Trains to `steps`, from the newest checkpoint of the folder if it exists.
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

std::string refusal(const std::string& run, const JobConfig& config, int64_t steps) {
  try {
    train_in(run, config, steps);
    return "";
  } catch (const InvalidFile& error) {
    return error.what();
  }
}

/// Removes the steps of the schedule from checkpoints, as in files of older programs.
void remove_schedule(const std::string& run) {
  for (FoundCheckpoint& one : list_checkpoints(run)) {
    ASSERT_EQ(one.manifest->position.metadata.erase("partita.schedule_steps"), 1u);
    std::ofstream(one.path + "/" + kManifestName, std::ios::trunc) << print_manifest(*one.manifest);
  }
}

TEST(Resume, StepsAloneGovern) {
  const auto steps_of = [](int64_t epochs, int64_t steps) {
    JobConfig config = small_config(1);
    config.training.epochs = epochs;
    config.training.steps = steps;
    Model model(small_network(), config, Place{.cores = 1});
    return model.train(rows_of(Split::train)).step;
  };
  EXPECT_EQ(steps_of(0, 0), kSmallSteps);
  EXPECT_EQ(steps_of(2, 0), 2 * kSmallSteps);
  EXPECT_EQ(steps_of(0, 10), 10) << "more than one epoch";
  EXPECT_EQ(steps_of(0, 3), 3);
  EXPECT_EQ(steps_of(2, 10), 2 * kSmallSteps) << "the smaller of both";
  EXPECT_EQ(steps_of(3, 10), 10);
}

// A training that is stopped at any step has the learning rates of one that was not. More steps are refused if they
// would change the rates.
TEST(Resume, AScheduleKeepsItsLength) {
  constexpr int64_t kSteps = 9, kMore = 12;
  for (const LrSchedule& schedule : {LrSchedule{.kind = LrKind::cosine},
                                     {.kind = LrKind::linear, .warmup_steps = 2},
                                     {.kind = LrKind::cosine, .warmup_steps = 100},
                                     {.kind = LrKind::step}}) {
    const JobConfig config = config_of(schedule);
    const TempDir dir;
    const std::string whole = (dir.path() / "whole").string();
    const std::vector<double> expected = train_in(whole, config, kSteps).rates;
    ASSERT_EQ(expected.size(), static_cast<size_t>(kSteps));
    const std::string part = whole + "/step_5", what = std::string(name_of(schedule.kind));
    const auto rates_from_part = [&](const JobConfig& changed, int64_t steps) {
      const std::string run = (dir.path() / "part").string();
      fs::remove_all(run);
      fs::create_directory(run);
      fs::copy(part, run + "/step_5");
      return train_in(run, changed, steps).rates;
    };
    EXPECT_EQ(rates_from_part(config, kSteps), std::vector<double>(expected.begin() + 5, expected.end())) << what;
    for (const bool is_old : {false, true}) {
      if (is_old) remove_schedule(whole);
      const std::string refused = refusal(whole, config, kMore);
      EXPECT_NE(refused.find("got schedule.steps = 12 instead of 9, expected the same"), std::string::npos) << refused;
      EXPECT_NE(refused.find("--schedule-steps N says how long the learning rate falls"), std::string::npos);
      JobConfig said = config;
      said.schedule.steps = kSteps;
      std::vector<double> rates = rates_from_part(said, kMore);
      ASSERT_EQ(rates.size(), static_cast<size_t>(kMore - 5)) << what;
      rates.resize(kSteps - 5);
      EXPECT_EQ(rates, std::vector<double>(expected.begin() + 5, expected.end())) << what << ": the same schedule";
      said.schedule.steps = kMore;
      EXPECT_EQ(rates_from_part(said, kMore).size(), static_cast<size_t>(kMore - 5)) << "another one that is named";
      JobConfig accepted = config;
      accepted.files.resume_with = {"schedule.steps"};
      EXPECT_EQ(rates_from_part(accepted, kMore), rates_from_part(said, kMore)) << what;
    }
  }
}

TEST(Resume, ASchedulesLengthIsNotAskedForWithoutNeed) {
  for (const LrSchedule& schedule : {LrSchedule{.kind = LrKind::constant},
                                     {.kind = LrKind::constant, .warmup_steps = 3},
                                     {.kind = LrKind::step, .step_every = 4},
                                     {.kind = LrKind::cosine, .steps = 40}}) {
    const TempDir dir;
    const std::string run = (dir.path() / "run").string();
    const JobConfig config = config_of(schedule);
    EXPECT_EQ(train_in(run, config, 3).end.step, 3);
    EXPECT_EQ(refusal(run, config, 5), "") << name_of(schedule.kind);
    remove_schedule(run);
    EXPECT_EQ(refusal(run, config, 6), "") << name_of(schedule.kind);
  }
  // Two explicit lengths differ as any other key does.
  const TempDir dir;
  const std::string run = (dir.path() / "run").string();
  train_in(run, config_of({.kind = LrKind::cosine, .steps = 40}), 3);
  EXPECT_NE(refusal(run, config_of({.kind = LrKind::cosine, .steps = 50}), 3).find("schedule.steps = 50 instead of 40"),
            std::string::npos);
  EXPECT_NE(refusal(run, config_of({.kind = LrKind::cosine}), 5).find("schedule.steps = 5 instead of 40"),
            std::string::npos);
}

// Seconds are those of steps taken in this process, also in an epoch that began in another one. The mean loss is over
// all steps.
TEST(Resume, EpochsSayWhichStepsTheirSecondsAreOf) {
  const JobConfig config = config_of({});
  const TempDir never_stopped;
  const std::vector<EpochInfo> whole =
      train_in((never_stopped.path() / "run").string(), config, 2 * kSmallSteps).epochs;
  ASSERT_EQ(whole.size(), 2u);
  for (int64_t stop = 1; stop < 2 * kSmallSteps; ++stop) {
    const TempDir dir;
    const std::string run = (dir.path() / "run").string();
    train_in(run, config, stop);
    const std::vector<EpochInfo> epochs = train_in(run, config, 2 * kSmallSteps).epochs;
    ASSERT_FALSE(epochs.empty());
    EXPECT_EQ(epochs[0].steps, kSmallSteps) << stop;
    EXPECT_EQ(epochs[0].steps_before, stop % kSmallSteps) << stop;
    for (size_t i = 1; i < epochs.size(); ++i) EXPECT_EQ(epochs[i].steps_before, 0) << stop;
    ASSERT_EQ(epochs.size(), stop < kSmallSteps ? 2u : 1u) << stop;
    for (size_t i = 0; i < epochs.size(); ++i) {
      EXPECT_EQ(epochs[i].loss, whole[whole.size() - epochs.size() + i].loss) << stop;
    }
  }
}

TEST(Resume, OneModelAtATimeSavesToAFolder) {
  const TempDir dir;
  const std::string run = (dir.path() / "run").string(), other = (dir.path() / "other").string();
  const auto refused = [](const std::function<void()>& act) {
    try {
      act();
      return std::string();
    } catch (const RuntimeFailure& error) {
      EXPECT_EQ(error.code(), ExitCode::cannot_write);
      return std::string(error.what());
    }
  };
  const auto into = [](const std::string& folder) {
    return FitOptions{.checkpoints = CheckpointOptions{.folder = folder}};
  };
  const DatasetPtr rows = rows_of(Split::train);
  Model second = small_model(1);
  {
    Model first = small_model(2);
    first.train(rows, into(run));
    first.train(rows, into(run));  // its own folder
    const std::string text = refused([&] { second.train(rows, into(run)); });
    EXPECT_NE(text.find(fmt::format("got {} held by process {} on ", run, ::getpid())), std::string::npos) << text;
    EXPECT_EQ(refused([&] { second.train(rows, into(other)); }), "");
    // Reading needs no lock.
    Model reader = small_model(1);
    reader.load(run);
    EXPECT_GT(reader.eval(rows_of(Split::test)).samples, 0);
    EXPECT_TRUE(newest_checkpoint(run, [](const std::string& text) { ADD_FAILURE() << text; }));
    reader.resume(run);
    EXPECT_EQ(refused([&] { reader.train(rows); }), "");
  }
  EXPECT_EQ(refused([&] { second.train(rows, into(run)); }), "");
  EXPECT_EQ(refused([&] { small_model(1).train(rows, into(other)); }), "") << "held until it saves elsewhere";
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Resume, OneTrainingAtATimeWritesALogAndATrace) {
  const TempDir dir;
  const std::string log = (dir.path() / "log").string(), trace = (dir.path() / "trace").string();
  JobConfig traced = small_config(1);
  traced.files.trace = trace;
  traced.files.trace_steps = kSmallSteps + 1;  // written at the end
  JsonLines lines(log, nullptr);
  LambdaCallback begins_another;
  int refusals = 0;
  begins_another.step_end = [&](const StepInfo& info) {
    if (info.global_step != 2) return;
    const std::string before = text_of(log);
    JsonLines others(log, nullptr);
    Model with_log = small_model(1), with_trace(small_network(), traced, Place{.cores = 1});
    for (const auto& [model, callbacks, where] :
         {std::tuple{&with_log, std::vector<Callback*>{&others}, "[log]"}, {&with_trace, {}, "[trace]"}}) {
      try {
        model->train(rows_of(Split::train), {.callbacks = callbacks});
      } catch (const RuntimeFailure& error) {
        EXPECT_EQ(error.code(), ExitCode::cannot_write);
        EXPECT_NE(std::string(error.what()).find(std::string(where) + " another job writes to it"), std::string::npos)
            << error.what();
        ++refusals;
      }
    }
    EXPECT_EQ(text_of(log), before);
  };
  Model model(small_network(), traced, Place{.cores = 1});
  model.train(rows_of(Split::train), {.callbacks = {&lines, &begins_another}});
  EXPECT_EQ(refusals, 2);
  const std::string text = text_of(log);
  EXPECT_EQ(std::ranges::count(text, '\n'), kSmallSteps);
  EXPECT_NE(text_of(trace).find("traceEvents"), std::string::npos);
  model.train(rows_of(Split::train));  // the lock on the trace is released
}

}  // namespace
}  // namespace partita
