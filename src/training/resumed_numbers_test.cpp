// Numbers of a checkpoint besides the states, resumed under every other configuration: each goes on, begins anew with a
// word, or the checkpoint is refused.

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <random>
#include <sstream>

#include "frontend/data/readers/test_files.h"
#include "runtime/checkpoint/saved_states.h"
#include "runtime/checkpoint/weights.h"
#include "training/kept_texts.h"
#include "training/model.h"
#include "training/test_training.h"

namespace partita {
namespace {

constexpr int64_t kSaveStep = kSmallSteps + 2;  // in the middle of the second epoch
constexpr int64_t kSavedSteps = 4 * kSmallSteps;
constexpr double kSetRate = 0.0625;

enum class Monitor { none, training, validation, other_rows, accuracy, unnamed };

/// A training, by what its numbers measure.
struct SavedJob {
  LossScaling scaling = LossScaling::off;
  std::optional<double> scale{};
  MixedPrecision precision = MixedPrecision::bf16;
  OptimizerKind optimizer = OptimizerKind::adam;
  LrKind schedule = LrKind::constant;
  Loss loss = Loss::sparse;
  Monitor monitor = Monitor::validation;
  uint64_t data = 3;  // seed of the rows
  int ranks = 1;
  int64_t schedule_steps = 0;
  double dropout = 0;
};

DatasetPtr rows_from(uint64_t seed, Split split) {
  const DatasetPtr rows = make_synthetic({DType::u8, {8, 8, 1}}, 4, kSmallRows, seed, split);
  return map(split == Split::train ? shuffle(rows, 5) : rows, {"image"},
             chain({rescale(1.0 / 255, 0), normalize({0.5}, {0.25}), hwc_to_chw(), cast(DType::f64)}));
}

JobConfig config_of_job(const SavedJob& job) {
  JobConfig config = small_config(job.ranks, job.optimizer);
  config.model = fmt::format("mlp:hidden=16,layers=1,classes=4,dropout={}", job.dropout);
  config.training.loss_scaling = job.scaling;
  config.training.loss_scale = job.scale;
  config.training.loss_scale_window = 5;
  config.training.precision = job.precision;
  config.training.on_nan = OnNan::skip;
  config.training.loss = job.loss;
  config.training.epochs = 4;
  config.schedule = {.kind = job.schedule, .learning_rate = 0.01, .steps = job.schedule_steps};
  if (job.schedule != LrKind::constant && job.schedule_steps == 0) config.schedule.steps = kSavedSteps;
  return config;
}

/// A state of a user's callback.
class EpochCounter : public Callback {
 public:
  explicit EpochCounter(std::string measures) : measures_(std::move(measures)) {}
  std::string kept_as() const override { return "counter"; }
  std::string saved() const override { return fmt::format("{}", epochs); }
  std::string measures() const override { return measures_; }
  void restore(const std::string& text) override { restored = text; }
  void on_epoch_end(const EpochInfo&) override { ++epochs; }
  int epochs = 0;
  std::string restored;

 private:
  std::string measures_;
};

class Stopping : public EarlyStopping {
 public:
  using EarlyStopping::EarlyStopping;
  void restore(const std::string& text) override {
    EarlyStopping::restore(text);
    restored = text;
  }
  std::string restored;
};

EarlyStopping::Options stopping_of(const SavedJob& job) {
  EarlyStopping::Options options{.patience = 100};
  if (job.monitor != Monitor::accuracy && job.monitor != Monitor::unnamed) return options;
  options.larger_is_better = true;
  options.monitor = [](const EpochInfo& info) { return info.validation->accuracy(); };
  if (job.monitor == Monitor::accuracy) options.monitored = "accuracy";
  return options;
}

/// Sets a learning rate after the first step, and keeps what it sees.
struct SeenNumbers : EventRecorder {
  explicit SeenNumbers(bool sets_rate) : sets_rate_(sets_rate) {}
  void on_train_begin(const TrainInfo& info) override { control_ = info.control; }
  void on_step_end(const StepInfo& info) override {
    EventRecorder::on_step_end(info);
    if (sets_rate_) control_->set_learning_rate(kSetRate);
    if (sets_rate_ && info.global_step == kSaveStep) control_->save_checkpoint(file);
  }
  std::string file;

 private:
  bool sets_rate_;
  TrainControl* control_ = nullptr;
};

struct ResumedOutcome {
  std::string refused;
  std::vector<std::string> words;  // warnings of what begins anew
  double first_scale = 0, first_rate = 0;
  std::string stopping, counter;  // restored texts
  std::vector<StepInfo> steps;
  std::vector<EpochInfo> epochs;
};

ResumedOutcome run(const SavedJob& job, const std::string& resumed, const std::vector<std::string>& accepted,
                   const CheckpointOptions& checkpoints, const std::string& file) {
  JobConfig config = config_of_job(job);
  config.files.resume_with = accepted;
  const bool begins = resumed.empty();
  ResumedOutcome outcome;
  std::ostringstream out;
  Stopping stopping(stopping_of(job), out);
  EpochCounter counter("epochs"), unnamed("");
  SeenNumbers seen(begins);
  seen.file = file;
  FitOptions fit{.max_steps = begins ? kSaveStep : 0, .callbacks = {&seen, &counter, &unnamed}, .prints = false};
  fit.is_said = [](std::string_view) { return false; };
  if (job.monitor != Monitor::none) fit.callbacks.push_back(&stopping);
  const bool validates = job.monitor != Monitor::none && job.monitor != Monitor::training;
  if (validates) fit.validation = rows_from(job.monitor == Monitor::other_rows ? 8 : job.data, Split::test);
  if (!checkpoints.folder.empty()) fit.checkpoints = checkpoints;
  Model model(config, Place{.cores = 1});
  model.on_warning([&](const std::string& text) {
    if (text.starts_with("[resume]")) outcome.words.push_back(text);
  });
  if (!begins) model.resume(resumed);
  try {
    model.train(rows_from(job.data, Split::train), fit);
  } catch (const InvalidFile& error) {
    outcome.refused = error.what();
    return outcome;
  }
  outcome.first_scale = seen.steps.at(0).loss_scale;
  outcome.first_rate = seen.steps.at(0).learning_rate;
  outcome.stopping = stopping.restored;
  outcome.counter = counter.restored;
  outcome.steps = seen.steps;
  outcome.epochs = seen.epochs;
  return outcome;
}

int said(const ResumedOutcome& outcome, const std::string& words) {
  return static_cast<int>(std::ranges::count_if(
      outcome.words, [&](const std::string& one) { return one.find(words) != std::string::npos; }));
}

bool is_f16(const SavedJob& job) { return job.precision == MixedPrecision::f16; }

bool has_same_scale(const SavedJob& then, const SavedJob& now) {
  if (then.scaling != now.scaling) return false;
  if (now.scaling == LossScaling::fixed) return then.scale == now.scale;
  if (now.scaling == LossScaling::off) return true;
  return is_f16(then) == is_f16(now) && (!now.scale || then.scale == now.scale);
}

bool has_same_losses(const SavedJob& then, const SavedJob& now) {
  return then.loss == now.loss && then.data == now.data && then.dropout == now.dropout;
}

bool has_same_monitor(const SavedJob& then, const SavedJob& now) {
  const bool is_of_loss = has_same_losses(then, now);
  return then.monitor == now.monitor && is_of_loss;
}

bool has_validation(const SavedJob& job) { return job.monitor != Monitor::none && job.monitor != Monitor::training; }

/// Whether losses of the training and of the validation are the same.
bool has_same_validation(const SavedJob& then, const SavedJob& now) {
  return has_same_losses(then, now) && has_validation(then) == has_validation(now) &&
         (then.monitor == Monitor::other_rows) == (now.monitor == Monitor::other_rows);
}

/// The keys of what differs and changes what is computed.
std::vector<std::string> differing(const SavedJob& then, const SavedJob& now) {
  std::vector<std::string> keys;
  if (then.loss != now.loss) keys.push_back("training.loss");
  if (then.optimizer != now.optimizer) keys.push_back("optimizer.kind");
  if (then.schedule != now.schedule) keys.push_back("schedule.kind");
  const bool has_lengths = then.schedule != LrKind::constant && now.schedule != LrKind::constant;
  const auto length_of = [](const SavedJob& job) { return job.schedule_steps == 0 ? kSavedSteps : job.schedule_steps; };
  if (has_lengths && length_of(then) != length_of(now)) keys.push_back("schedule.steps");
  if (then.dropout != now.dropout) keys.push_back("model");
  if (then.data != now.data) keys.push_back("rows");
  return keys;
}

/// Saved forms of one checkpoint: the folder, the file that a callback asked for, and what the commands make of them.
std::vector<std::string> forms_of(const std::string& folder, const std::string& file, const std::string& scratch) {
  SavedStates states(folder);
  const std::string merged = scratch + "/merged.safetensors";
  merge_states(states, merged, /*all=*/true);
  SavedStates whole(merged);
  SplitTarget target{.ranks = 2};
  for (const auto& entry : whole.entries()) target.shares.push_back({{0, whole_box(entry.type.shape)}});
  return {folder, file, merged, split_states(whole, scratch + "/split", target)};
}

/// Removes what programs that did not name measures did not write.
void make_old(const std::string& folder) {
  Manifest manifest = read_manifest(folder);
  manifest.position.measures.clear();
  manifest.position.callbacks.erase("counter 2");  // one of a key was kept
  for (auto& [key, kept] : manifest.position.callbacks) kept.measures.clear();
  manifest.position.metadata.erase("partita.validation");
  std::ofstream(folder + "/" + kManifestName, std::ios::trunc) << print_manifest(manifest);
}

/// Checks what became of each number of a checkpoint of `then` that `now` resumes. `end`: of the training that saved
/// it.
void expect_outcome(const SavedJob& then, const SavedJob& now, const ResumedOutcome& end, const ResumedOutcome& got,
                    bool is_old, const std::string& where) {
  ASSERT_EQ(got.refused, "") << where;
  const bool same_scale = has_same_scale(then, now);
  EXPECT_EQ(said(got, "the scale of the loss begins anew"), same_scale ? 0 : 1) << where;
  const double begun = now.scaling == LossScaling::off ? 1 : now.scale.value_or(65536);
  // The window of 5 good steps has passed once.
  const double grown = then.scaling == LossScaling::dynamic ? 2 * then.scale.value_or(65536) : begun;
  EXPECT_EQ(got.first_scale, same_scale ? grown : begun) << where;

  const bool same_rate =
      then.optimizer == now.optimizer && then.schedule == now.schedule && then.schedule_steps == now.schedule_steps;
  EXPECT_EQ(said(got, "the learning rate follows its schedule again"), same_rate ? 0 : 1) << where;
  EXPECT_EQ(got.first_rate == kSetRate, same_rate) << where << " " << got.first_rate;

  const bool same_losses = has_same_losses(then, now);
  EXPECT_EQ(said(got, "the mean loss of the epoch is that of its steps from 7 on"), same_losses ? 0 : 1) << where;
  double sum = same_losses ? end.steps[4].loss + end.steps[5].loss : 0;
  for (size_t i = 0; i < 2; ++i) sum += got.steps[i].loss;
  EXPECT_NEAR(got.epochs[0].loss, sum / (same_losses ? 4 : 2), 1e-12) << where;
  EXPECT_EQ(got.epochs[0].steps, kSmallSteps) << where;
  EXPECT_EQ(got.epochs[0].steps_before, 2) << where;

  EXPECT_EQ(got.counter, is_old ? "" : "1") << where << ": measures the same in each training, if that is known";
  const bool same_monitor = has_same_monitor(then, now);
  const bool has_both = then.monitor != Monitor::none && now.monitor != Monitor::none;
  EXPECT_EQ(!got.stopping.empty(), has_both && same_monitor) << where << " " << got.stopping;
  EXPECT_EQ(said(got, "'early_stopping' begins anew"), has_both && !same_monitor ? 1 : 0) << where;
  EXPECT_EQ(said(got, "no callback goes on with the state of 'early_stopping'"),
            then.monitor != Monitor::none && now.monitor == Monitor::none ? 1 : 0)
      << where;
  const int counters = (has_same_validation(then, now) ? 0 : 1) + (is_old ? 1 : 0);
  EXPECT_EQ(said(got, "'counter' begins anew"), counters) << where;
  const size_t words = (same_scale ? 0 : 1) + (same_rate ? 0 : 1) + (same_losses ? 0 : 1) +
                       static_cast<size_t>(counters) +
                       (then.monitor != Monitor::none && !(has_both && same_monitor) ? 1 : 0);
  EXPECT_EQ(got.words.size(), words) << where << fmt::format("{}", fmt::join(got.words, "\n"));
}

std::string print(const SavedJob& job) {
  return fmt::format("{} {} {} {} {} {} monitor {} data {} ranks {} steps {} dropout {}", name_of(job.scaling),
                     job.scale.value_or(0), name_of(job.precision), name_of(job.optimizer), name_of(job.schedule),
                     name_of(job.loss), static_cast<int>(job.monitor), job.data, job.ranks, job.schedule_steps,
                     job.dropout);
}

/// The names of states besides the parameters: adam and dropout count steps.
std::string states_of(const SavedJob& job) {
  const bool is_adam = job.optimizer != OptimizerKind::momentum;
  return fmt::format("{}{}", is_adam ? "exp_avg, exp_avg_sq" : "momentum", is_adam || job.dropout > 0 ? ", step" : "");
}

/// Changes of one field each.
std::vector<std::function<void(SavedJob&)>> changes_of_jobs() {
  return {[](SavedJob&) {},
          [](SavedJob& job) { job.scaling = LossScaling::off; },
          [](SavedJob& job) { job.scaling = LossScaling::dynamic; },
          [](SavedJob& job) { job.scaling = LossScaling::dynamic, job.scale = 1024; },
          [](SavedJob& job) { job.scaling = LossScaling::fixed, job.scale = 8; },
          [](SavedJob& job) { job.scaling = LossScaling::fixed, job.scale = 16; },
          [](SavedJob& job) { job.scaling = LossScaling::dynamic, job.precision = MixedPrecision::f16; },
          [](SavedJob& job) { job.precision = MixedPrecision::f32; },
          [](SavedJob& job) { job.optimizer = OptimizerKind::adamw; },
          [](SavedJob& job) { job.optimizer = OptimizerKind::momentum; },
          [](SavedJob& job) { job.schedule = LrKind::cosine; },
          [](SavedJob& job) { job.schedule = LrKind::cosine, job.schedule_steps = 40; },
          [](SavedJob& job) { job.loss = Loss::dense; },
          [](SavedJob& job) { job.dropout = 0.25; },
          [](SavedJob& job) { job.monitor = Monitor::none; },
          [](SavedJob& job) { job.monitor = Monitor::training; },
          [](SavedJob& job) { job.monitor = Monitor::other_rows; },
          [](SavedJob& job) { job.monitor = Monitor::accuracy; },
          [](SavedJob& job) { job.monitor = Monitor::unnamed; },
          [](SavedJob& job) { job.data = 4; },
          [](SavedJob& job) { job.ranks = 3; }};
}

SavedJob drawn(std::mt19937& random, int count) {
  const auto all = changes_of_jobs();
  SavedJob job;
  for (int i = 0; i < count; ++i) all[random() % all.size()](job);
  if (job.scaling != LossScaling::dynamic && job.scaling != LossScaling::fixed) job.scale.reset();
  if (job.schedule == LrKind::constant) job.schedule_steps = 0;
  return job;
}

class ResumedNumbers : public testing::Test {
 protected:
  struct Saved {
    SavedJob job;
    ResumedOutcome end;
    std::vector<std::string> forms;
    bool is_old = false;
  };
  Saved saved(const SavedJob& job) {
    const std::string scratch = (dir_.path() / fmt::format("{}", count_++)).string();
    std::filesystem::create_directory(scratch);
    Saved made{.job = job};
    const std::string file = scratch + "/asked.safetensors";
    made.end = run(job, "", {}, {.folder = scratch + "/run"}, file);
    made.forms = forms_of(fmt::format("{}/run/step_{}", scratch, kSaveStep), file, scratch);
    return made;
  }
  void expect(const Saved& saved, const SavedJob& now, const std::string& form) {
    const std::string where = fmt::format("{}\n  {}\n  {}", form, print(saved.job), print(now));
    const std::vector<std::string> keys = differing(saved.job, now);
    const ResumedOutcome without = run(now, form, {}, {}, "");
    if (keys.empty()) return expect_outcome(saved.job, now, saved.end, without, saved.is_old, where);
    EXPECT_NE(without.refused, "") << where;
    EXPECT_TRUE(without.words.empty()) << where;
    const ResumedOutcome accepted = run(now, form, keys, {}, "");
    if (states_of(saved.job) != states_of(now)) {
      EXPECT_NE(accepted.refused.find("of another network or optimizer"), std::string::npos) << where;
      return;
    }
    expect_outcome(saved.job, now, saved.end, accepted, saved.is_old, where);
  }

  TempDir dir_;
  int count_ = 0;
};

TEST_F(ResumedNumbers, GoOnBeginAnewWithAWordOrAreRefused) {
  for (const auto& change : changes_of_jobs()) {
    SavedJob then;
    change(then);
    const Saved one = saved(then);
    for (const auto& other : changes_of_jobs()) {
      SavedJob now;
      other(now);
      expect(one, now, one.forms[0]);
      if (HasFailure()) return;
    }
    SavedJob now;
    for (const std::string& form : one.forms) expect(one, now, form);
  }
}

TEST_F(ResumedNumbers, OfRandomTrainings) {
  std::mt19937 random(11);
  for (int draw = 0; draw < 25 && !HasFailure(); ++draw) {
    const Saved one = saved(drawn(random, 4));
    for (int i = 0; i < 4; ++i) expect(one, drawn(random, 4), one.forms[random() % one.forms.size()]);
  }
}

TEST_F(ResumedNumbers, OfOlderProgramsSayWhatTheyMeasureByTheirConfiguration) {
  for (const auto& change : changes_of_jobs()) {
    SavedJob then;
    then.scaling = LossScaling::dynamic;
    then.monitor = Monitor::none;
    change(then);
    if (then.monitor != Monitor::none) continue;
    Saved one = saved(then);
    make_old(one.forms[0]);
    one.is_old = true;
    for (const auto& other : changes_of_jobs()) {
      SavedJob now = then;
      other(now);
      if (now.monitor == Monitor::none) expect(one, now, one.forms[0]);
      if (HasFailure()) return;
    }
  }
}

/// Trains as the command does with --patience, and returns what a resumed training says; "" if nothing.
std::string said_of_patience(const std::string& folder, bool validates, bool has_patience, int64_t steps) {
  JobConfig config = config_of_job({});
  config.training.validate = validates;
  if (has_patience) config.training.patience = 100;
  Model model(config, Place{.cores = 1});
  std::string words;
  model.on_warning([&](const std::string& text) {
    if (text.starts_with("[resume]")) words += text.substr(text.find(": ") + 2);
  });
  if (std::filesystem::exists(folder)) model.resume(folder);
  FitOptions fit{.max_steps = steps, .checkpoints = CheckpointOptions{.folder = folder}, .prints = false};
  fit.is_said = [](std::string_view) { return false; };
  if (validates) fit.test = rows_of(Split::test);
  model.train(rows_of(Split::train), fit);
  return words;
}

TEST_F(ResumedNumbers, OlderStatesOfPatienceAreOfTheLossThatTheirConfigurationNames) {
  for (const bool validated : {false, true}) {
    for (const bool validates : {false, true}) {
      for (const bool is_old : {false, true}) {
        const std::string run = (dir_.path() / fmt::format("{}{}{}", validated, validates, is_old)).string();
        EXPECT_EQ(said_of_patience(run, validated, true, kSmallSteps), "");
        if (is_old) make_old(fmt::format("{}/step_{}", run, kSmallSteps));
        const std::string words = said_of_patience(run, validates, true, 2 * kSmallSteps);
        const bool begins =
            words.starts_with("'early_stopping' begins anew, got its state of lowest sparse loss of mlp:");
        EXPECT_EQ(begins, validated != validates) << words;
        EXPECT_EQ(words.empty(), validated == validates) << words;
        EXPECT_EQ(words.find("on validation rows ") != std::string::npos, validated != validates) << words;
      }
    }
  }
  // One that a program has added may monitor anything.
  Saved one = saved({});
  make_old(one.forms[0]);
  EXPECT_EQ(said(run({}, one.forms[0], {}, {}, ""),
                 "'early_stopping' begins anew, got its state of what it does not "
                 "name in the checkpoint"),
            1);
}

TEST_F(ResumedNumbers, AScaleThatIsGivenIsObeyed) {
  SavedJob then;
  then.scaling = LossScaling::dynamic;
  then.scale = 512;
  const Saved one = saved(then);
  const auto resumed = [&](std::optional<double> scale) {
    SavedJob now = then;
    now.scale = scale;
    return run(now, one.forms[0], {}, {}, "");
  };
  EXPECT_EQ(resumed(512).first_scale, 1024) << "the same command goes on";
  EXPECT_EQ(resumed(std::nullopt).first_scale, 1024) << "nothing is asked for";
  const ResumedOutcome given = resumed(64);
  EXPECT_EQ(given.first_scale, 64);
  ASSERT_EQ(given.words.size(), 1u);
  EXPECT_TRUE(given.words[0].ends_with(
      ": the scale of the loss begins anew, got 1024 in the checkpoint, expected 64 as training.loss_scale says"))
      << given.words[0];
}

TEST_F(ResumedNumbers, AScaleThatACallGivesBeginsTheTraining) {
  SavedJob job;
  job.scaling = LossScaling::dynamic;
  const auto begun = [&](const std::string& measures) {
    std::vector<std::string> words;
    SeenNumbers seen(false);
    Model model(config_of_job(job), Place{.cores = 1});
    model.on_warning([&](const std::string& text) { words.push_back(text); });
    FitOptions fit{.max_steps = 6, .callbacks = {&seen}, .prints = false};
    fit.loss_scale = KeptLossScale{{.scale = 256, .good_steps = 3}, measures, "net.ckpt"};
    const TrainingEnd end = model.train(rows_of(Split::train), fit);
    EXPECT_EQ(end.loss_scale->measures, "dynamic f64");
    EXPECT_EQ(end.loss_scale->state.scale, 2 * seen.steps.at(0).loss_scale);
    words.push_back(fmt::format("{} {}", seen.steps.at(1).loss_scale, seen.steps.at(2).loss_scale));
    return words;
  };
  EXPECT_EQ(begun("dynamic f64"), (std::vector<std::string>{"256 512"}));
  EXPECT_EQ(begun("dynamic f16"),
            (std::vector<std::string>{"[resume] net.ckpt: the scale of the loss begins anew, got 256 of dynamic f16 in "
                                      "the checkpoint, expected one of dynamic f64",
                                      "65536 65536"}));
}

TEST_F(ResumedNumbers, ATrainingThatIsNotDescribedIsSaid) {
  SavedJob job;
  job.scaling = LossScaling::dynamic;
  const Saved one = saved(job);
  Manifest manifest = read_manifest(one.forms[0]);
  for (const bool is_named : {true, false}) {
    manifest.position.metadata.clear();
    if (!is_named) manifest.position.measures.clear();
    std::ofstream(one.forms[0] + "/" + kManifestName, std::ios::trunc) << print_manifest(manifest);
    const ResumedOutcome got = run(job, one.forms[0], {}, {}, "");
    EXPECT_EQ(said(got, "the checkpoint does not describe its training, got no configuration, program and rows"), 1);
    EXPECT_EQ(said(got, "the scale of the loss begins anew, got 131072 of what it does not name"), is_named ? 0 : 1);
    EXPECT_EQ(got.words.size(), is_named ? 1u : 4u) << fmt::format("{}", fmt::join(got.words, "\n"));
  }
}

// Each callback of a kind has its own state, and gets it in any order.
TEST_F(ResumedNumbers, CallbacksOfOneKeyKeepTheirStatesApart) {
  const TrainInfo info{.training_loss = "loss", .validation_loss = "other loss"};
  const auto kept = [&](const std::vector<Callback*>& callbacks) {
    for (Callback* callback : callbacks) callback->on_train_begin(info);
    return saved_texts(callbacks, info);
  };
  EpochCounter loss("loss"), accuracy("accuracy"), error("error"), unnamed("");
  loss.epochs = 1, accuracy.epochs = 2, unnamed.epochs = 3;
  const auto saved = kept({&loss, &accuracy, &unnamed});
  EXPECT_EQ(saved, (std::map<std::string, KeptText>{{"counter", {"1", "loss"}},
                                                    {"counter 2", {"2", "accuracy"}},
                                                    {"counter 3", {"3", "loss; other loss"}}}));
  std::vector<std::string> words;
  EpochCounter second("accuracy");  // the first of two alike gets the state
  restore_texts({&unnamed, &accuracy, &error, &second}, saved, info, "run",
                [&](const std::string& text) { words.push_back(text); });
  EXPECT_EQ(accuracy.restored + unnamed.restored + loss.restored + error.restored + second.restored, "23");
  EXPECT_EQ(words, (std::vector<std::string>{"[resume] run: 'counter' begins anew, got its state of loss in the "
                                             "checkpoint, expected one of error",
                                             "[resume] run: 'counter' begins anew, got its state of loss in the "
                                             "checkpoint, expected one of accuracy"}));
  std::ostringstream out;
  EarlyStopping stopping({.patience = 1}, out);
  words.clear();
  restore_texts({&stopping}, saved, info, "run", [&](const std::string& text) { words.push_back(text); });
  EXPECT_EQ(words.size(), 3u) << "no callback has these keys";
  EXPECT_EQ(words.at(0), "[resume] run: no callback goes on with the state of 'counter'");
}

// Older files have no kinds, or an empty text, and what the commands make of them does not know more.
TEST_F(ResumedNumbers, OfFilesWithoutKindsGoOnThroughSplitAndMerge) {
  const SavedJob job;
  const std::string folder = dir_.path().string(), old = folder + "/old.safetensors";
  for (const bool is_empty : {false, true}) {
    WeightsFile file = read_weights_file(saved(job).forms[1]);
    ASSERT_EQ(file.metadata.erase("partita.kinds"), 1u);
    if (is_empty) file.metadata["partita.kinds"] = "";
    save_weights(old, {file.tensors.begin(), file.tensors.end()}, file.metadata);
    for (const std::string& form : forms_of(old, old, folder)) {
      const ResumedOutcome got = run(job, form, {}, {}, "");
      EXPECT_EQ(got.refused, "") << form;
      EXPECT_TRUE(got.words.empty()) << form;
    }
    EXPECT_FALSE(read_weights_metadata(folder + "/merged.safetensors").contains("partita.kinds"));
  }
}

TEST_F(ResumedNumbers, AStateOfAnotherKindIsRefused) {
  Saved one = saved({});
  Manifest manifest = read_manifest(one.forms[0]);
  manifest.tensors.at(0).kind = StateKind::statistic;
  const std::string name = manifest.tensors[0].name;
  std::ofstream(one.forms[0] + "/" + kManifestName, std::ios::trunc) << print_manifest(manifest);
  EXPECT_EQ(run({}, one.forms[0], {}, {}, "").refused,
            fmt::format("[resume] {}: '{}' is a state of another kind, got statistic, expected parameter", one.forms[0],
                        name));
}

}  // namespace
}  // namespace partita
