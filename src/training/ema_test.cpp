// Averages of parameters are those that are computed outside of the training, under any plan.

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "compiler/compile.h"
#include "frontend/data/readers/memory_rows.h"
#include "frontend/data/readers/test_files.h"
#include "ir/optimizers/averages.h"
#include "training/test_training.h"

namespace partita {
namespace {

constexpr double kKeep = 0.8;

/// Averages parameters after each step as a user would.
class OutsideAverage : public Callback {
 public:
  explicit OutsideAverage(std::map<std::string, Array> begin) : averages(std::move(begin)) {}
  std::map<std::string, Array> averages;
  void on_train_begin(const TrainInfo& info) override { control_ = info.control; }
  void on_step_end(const StepInfo&) override {
    for (auto& [name, average] : averages) {
      const Array now = control_->state(name);
      for (int64_t i = 0; i < average.type().elements(); ++i) {
        average.set(i, kKeep * average.at(i) + (1 - kKeep) * now.at(i));
      }
    }
  }

 private:
  TrainControl* control_ = nullptr;
};

std::map<std::string, Array> parameters_of(const States& states) {
  std::map<std::string, Array> parameters;
  for (const auto& [name, value] : states) {
    if (states.contains(average_of(name))) parameters.emplace(name, value);
  }
  return parameters;
}

/// Returns the parameters with which a training of `config` begins.
std::map<std::string, Array> initial_parameters(const JobConfig& config) {
  Model model(small_network(), config, Place{.cores = 1});
  model.eval(rows_of(Split::test));
  std::map<std::string, Array> parameters;
  for (const auto& [name, value] : model.states()) {
    if (is_float(value.type().dtype)) parameters.emplace(name, value);
  }
  return parameters;
}

void expect_equal(const std::map<std::string, Array>& outside, const States& states, const std::string& what) {
  ASSERT_FALSE(outside.empty());
  for (const auto& [name, average] : outside) {
    const auto own = states.find(average_of(name));
    ASSERT_NE(own, states.end()) << name;
    for (int64_t i = 0; i < average.type().elements(); ++i) {
      ASSERT_NEAR(own->second.at(i), average.at(i), 1e-12) << name << " " << i << ": " << what;
    }
  }
}

/// Draws a plan for as many ranks, on rows that they divide.
JobConfig draw_config(std::mt19937& random, int ranks) {
  const auto draw = [&](int64_t most) { return static_cast<int64_t>(random() % static_cast<uint32_t>(most + 1)); };
  const char* kinds[] = {"sgd", "momentum", "adamw", "lion", "muon", "adafactor"};
  JobConfig config = small_config(ranks, OptimizerKind(std::string_view(kinds[draw(5)])));
  config.optimizer.ema = kKeep;
  config.optimizer.clip_norm = draw(1) == 0 ? 0 : 0.5;
  PlanOptions& plan = config.plan.options;
  plan.micro_batches = 1 + draw(2);
  plan.pipeline.stages = ranks % 2 == 0 ? 1 + draw(1) : 1;
  plan.zero.level = static_cast<int>(draw(3));
  if (plan.zero.level > 0) plan.zero.threshold = 0;
  const int64_t share = ranks / plan.pipeline.stages;
  const bool divides = kSmallBatch % (share * plan.micro_batches) == 0;
  plan.parallel = !divides ? Parallel::hybrid : draw(1) == 0 ? Parallel::data : Parallel::automatic;
  if (plan.micro_batches == 3 && kSmallBatch / 3 % share != 0) plan.micro_batches = 2;
  return config;
}

std::string describe(const JobConfig& config) {
  const PlanOptions& plan = config.plan.options;
  return fmt::format("{} on {} ranks, {}, {} micro-batches, {} stages, zero {}", config.optimizer.kind.name,
                     config.ranks.count, name_of(plan.parallel), plan.micro_batches, plan.pipeline.stages,
                     plan.zero.level);
}

TEST(Ema, EqualsTheAverageComputedOutsideUnderRandomPlans) {
  std::mt19937 random(7);
  for (const int ranks : {1, 2, 3, 4, 6, 8}) {
    for (int trial = 0; trial < 3; ++trial) {
      const JobConfig config = draw_config(random, ranks);
      OutsideAverage outside(initial_parameters(config));
      Model model(small_network(), config, Place{.cores = 1});
      model.on_warning([](const std::string&) {});
      model.train(rows_of(Split::train), {.epochs = 2, .callbacks = {&outside}, .prints = false});
      expect_equal(outside.averages, model.states(), describe(config));
      EXPECT_EQ(parameters_of(model.states()).size(), outside.averages.size());
    }
  }
}

/// Rows of which those of the second and the fifth batch have a NaN.
DatasetPtr rows_with_nan() {
  constexpr int64_t kCount = 6 * kSmallBatch, kWidth = 8;
  Array images(Type{DType::f64, {kCount, kWidth}}), labels(Type{DType::i32, {kCount}});
  for (int64_t i = 0; i < kCount * kWidth; ++i) images.set(i, static_cast<double>(i * 31 % 17) / 17);
  for (int64_t i = 0; i < kCount; ++i) labels.set(i, static_cast<double>(i * 7 % 4));
  images.set((kSmallBatch + 5) * kWidth, NAN);
  images.set((4 * kSmallBatch + 20) * kWidth, NAN);
  return memory_rows({{"image", images}, {"label", labels}});
}

TEST(Ema, DoesNotMoveInASkippedStep) {
  for (const int ranks : {1, 2, 3, 4}) {
    JobConfig config = small_config(ranks);
    config.optimizer.ema = kKeep;
    config.training.on_nan = OnNan::skip;
    config.plan.options.micro_batches = ranks == 2 ? 2 : 1;
    config.plan.options.pipeline.stages = ranks == 4 ? 2 : 1;
    std::map<std::string, Array> begin;
    TrainControl* control = nullptr;
    LambdaCallback look;
    look.train_begin = [&](const TrainInfo& info) {
      control = info.control;
      for (const State& state : info.program->graph.states) {
        if (is_average(info.program->graph, state)) begin.emplace(state.owner, control->state(state.owner));
      }
    };
    int64_t skipped = 0;
    look.step_end = [&](const StepInfo& info) {
      skipped += info.skipped;
      for (auto& [name, average] : begin) {
        const Array now = control->state(name), own = control->state(average_of(name));
        for (int64_t i = 0; i < average.type().elements(); ++i) {
          if (!info.skipped) average.set(i, kKeep * average.at(i) + (1 - kKeep) * now.at(i));
          ASSERT_NEAR(own.at(i), average.at(i), 1e-12) << name << " after step " << info.global_step;
        }
      }
    };
    Model model(small_network(), config, Place{.cores = 1});
    model.on_warning([](const std::string&) {});
    model.train(rows_with_nan(), {.epochs = 1, .callbacks = {&look}, .prints = false});
    EXPECT_EQ(skipped, 2);
  }
}

TEST(Ema, GoesOnOnAnotherNumberOfRanks) {
  const TempDir folder;
  std::mt19937 random(3);
  for (const auto& [first, second] : {std::pair{1, 4}, {4, 3}, {6, 2}, {2, 8}}) {
    JobConfig config = small_config(first);
    config.optimizer.ema = kKeep;
    OutsideAverage outside(initial_parameters(config));
    const std::string run = (folder.path() / fmt::format("{}", first)).string();
    Model begun(small_network(), config, Place{.cores = 1});
    begun.train(rows_of(Split::train), {.epochs = 3,
                                        .max_steps = 5,
                                        .callbacks = {&outside},
                                        .checkpoints = CheckpointOptions{.folder = run},
                                        .prints = false});
    config.ranks.count = second;
    config.plan.options.zero.level = 1 + static_cast<int>(random() % 3);
    config.plan.options.zero.threshold = 0;
    config.files.resume_with = {"schedule.steps"};
    Model resumed(small_network(), config, Place{.cores = 1});
    resumed.on_warning([](const std::string&) {});
    resumed.resume(run);
    resumed.train(rows_of(Split::train), {.epochs = 3, .callbacks = {&outside}, .prints = false});
    expect_equal(outside.averages, resumed.states(), fmt::format("{} to {} ranks", first, second));
  }
}

/// Records the losses of validations.
class Validations : public Callback {
 public:
  std::vector<double> losses;
  void on_epoch_end(const EpochInfo& info) override { losses.push_back(info.validation->loss); }
};

TEST(Ema, EvaluationsAndFilesUseTheAverages) {
  const TempDir folder;
  for (const auto& [ranks, zero, stages] : {std::tuple{1, 0, 1}, {2, 1, 1}, {4, 3, 1}, {4, 2, 2}, {3, 0, 1}}) {
    JobConfig config = small_config(ranks);
    config.optimizer.ema = kKeep;
    config.plan.options.zero.level = zero;
    if (zero > 0) config.plan.options.zero.threshold = 0;
    config.plan.options.pipeline.stages = stages;
    config.files.save = (folder.path() / "averages.safetensors").string();
    config.files.save_averages = true;
    config.files.checkpoint = (folder.path() / fmt::format("run{}{}", ranks, zero)).string();
    Model model(small_network(), config, Place{.cores = 1});
    Validations validations;
    const TrainingEnd end = model.train(rows_of(Split::train), {.epochs = 2,
                                                                .validation = rows_of(Split::test),
                                                                .callbacks = {&validations},
                                                                .test = rows_of(Split::test),
                                                                .prints = false});
    // A model without averages that has these values as its weights.
    States averages;
    for (const auto& [name, value] : parameters_of(model.states())) {
      averages.emplace(name, model.states().at(average_of(name)));
    }
    Model plain(small_network(), small_config(1), Place{.cores = 1});
    plain.assign(averages);
    const double expected = plain.eval(rows_of(Split::test)).loss;
    EXPECT_NEAR(end.test->loss, expected, 1e-12);
    EXPECT_NEAR(validations.losses.back(), expected, 1e-12);
    EXPECT_NEAR(model.eval(rows_of(Split::test)).loss, expected, 1e-12);
    // The trained weights have another loss.
    Model trained(small_network(), small_config(1), Place{.cores = 1});
    trained.assign(parameters_of(model.states()));
    EXPECT_GT(std::abs(trained.eval(rows_of(Split::test)).loss - expected), 1e-6);
    Model saved(small_network(), small_config(1), Place{.cores = 1});
    saved.load(config.files.save);
    EXPECT_NEAR(saved.eval(rows_of(Split::test)).loss, expected, 1e-12);
    JobConfig of_checkpoint = small_config(1);
    of_checkpoint.files.load = config.files.checkpoint;
    of_checkpoint.files.load_averages = true;
    EXPECT_NEAR(Model(small_network(), of_checkpoint, Place{.cores = 1}).eval(rows_of(Split::test)).loss, expected,
                1e-12);
    of_checkpoint.files.load = config.files.save;  // has no averages
    Model without(small_network(), of_checkpoint, Place{.cores = 1});
    try {
      without.eval(rows_of(Split::test));
      ADD_FAILURE() << "weights without averages";
    } catch (const InvalidFile& error) {
      EXPECT_NE(std::string(error.what()).find("no averages of weights"), std::string::npos) << error.what();
    }
  }
}

TEST(Ema, LoadedWeightsBeginTheirAverages) {
  const TempDir folder;
  JobConfig config = small_config(2);
  Model first(small_network(), config, Place{.cores = 1});
  first.train(rows_of(Split::train), {.max_steps = 3, .prints = false});
  first.save((folder.path() / "w.safetensors").string());
  config.optimizer.ema = kKeep;
  config.files.load = (folder.path() / "w.safetensors").string();
  OutsideAverage outside([&] {
    std::map<std::string, Array> begin;
    for (const auto& [name, value] : initial_parameters(config)) begin.emplace(name, first.states().at(name));
    return begin;
  }());
  Model model(small_network(), config, Place{.cores = 1});
  model.train(rows_of(Split::train), {.max_steps = 3, .callbacks = {&outside}, .prints = false});
  expect_equal(outside.averages, model.states(), "loaded");
}

TEST(Ema, WithoutItATrainingHasNoAverages) {
  Model model = small_model(2);
  model.train(rows_of(Split::train), {.max_steps = 2, .prints = false});
  for (const auto& [name, value] : model.states()) EXPECT_FALSE(name.ends_with(".ema")) << name;
}

}  // namespace
}  // namespace partita
