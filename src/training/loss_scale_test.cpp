// Scaled losses: what follows a step whose gradients are not finite, the same on any plan.

#include "training/loss_scale.h"

#include <gtest/gtest.h>

#include <cmath>

#include "frontend/data/readers/memory_rows.h"
#include "frontend/data/readers/test_files.h"
#include "frontend/network/functions.h"
#include "frontend/network/layers/layers.h"
#include "runtime/comm/inproc/inproc.h"
#include "training/model_job.h"
#include "training/model_states.h"
#include "training/rank_run.h"
#include "training/test_training.h"

namespace partita {
namespace {

constexpr int64_t kScaledBatch = 24, kScaledSteps = 6, kBadStep = 3;

TrainingConfig dynamic_scale(double first, int64_t window) {
  return {.loss_scaling = LossScaling::dynamic, .loss_scale = first, .loss_scale_window = window};
}

TEST(LossScale, GrowsAfterGoodStepsAndShrinksAfterABadOne) {
  LossScale scale(dynamic_scale(8, 3), std::nullopt);
  for (int step = 0; step < 2; ++step) scale.add_good_step();
  EXPECT_EQ(scale.value(), 8);
  scale.add_good_step();
  EXPECT_EQ(scale.value(), 16);
  for (int step = 0; step < 2; ++step) scale.add_good_step();
  EXPECT_TRUE(scale.add_bad_step());
  EXPECT_EQ(scale.value(), 8);
  for (int step = 0; step < 2; ++step) scale.add_good_step();
  EXPECT_EQ(scale.value(), 8) << "steps before the bad one count";
  LossScale resumed(dynamic_scale(4, 3), scale.state());
  for (LossScale* one : {&scale, &resumed}) one->add_good_step();
  EXPECT_EQ(resumed.state(), scale.state());
  EXPECT_EQ(resumed.value(), 16);
}

TEST(LossScale, EndsAfterTenBadStepsOfTheSmallestScale) {
  LossScale scale(dynamic_scale(5, 3), std::nullopt);
  for (const double next : {2.5, 1.25, 1.0}) {
    EXPECT_TRUE(scale.add_bad_step());
    EXPECT_EQ(scale.value(), next);
  }
  for (int step = 1; step < LossScale::kMaxBadSteps; ++step) EXPECT_TRUE(scale.add_bad_step());
  LossScale recovered(dynamic_scale(1, 3), scale.state());
  recovered.add_good_step();
  EXPECT_TRUE(recovered.add_bad_step());
  EXPECT_FALSE(scale.add_bad_step());
}

TEST(LossScale, StaysWhereItIsStaticOrOff) {
  for (const OnNan on_nan : {OnNan::stop, OnNan::skip}) {
    for (const bool is_static : {false, true}) {
      TrainingConfig config{.on_nan = on_nan};
      if (is_static) config.loss_scale = 128;
      LossScale scale(config, LossScaleState{.scale = 4});
      EXPECT_EQ(scale.is_on(), is_static);
      EXPECT_EQ(scale.value(), is_static ? 128 : 1);
      EXPECT_EQ(scale.state().has_value(), on_nan == OnNan::skip);
      for (int step = 0; step < 5000; ++step) scale.add_good_step();
      EXPECT_EQ(scale.add_bad_step(), on_nan == OnNan::skip);
      EXPECT_EQ(scale.value(), is_static ? 128 : 1);
    }
  }
}

TEST(LossScale, IsDynamicWithF16Alone) {
  const auto is_dynamic = [](const TrainingConfig& config) {
    return LossScale(config, std::nullopt).state().has_value();
  };
  EXPECT_TRUE(is_dynamic({.precision = MixedPrecision::f16}));
  EXPECT_TRUE(is_dynamic({.precision_of = {"net/a=bf16", "net/b=f16"}}));
  EXPECT_FALSE(is_dynamic({.precision = MixedPrecision::f16, .loss_scaling = LossScaling::off}));
  EXPECT_FALSE(is_dynamic({.precision = MixedPrecision::f16, .loss_scale = 8}));
  EXPECT_FALSE(is_dynamic({.precision = MixedPrecision::bf16}));
  EXPECT_EQ(LossScale({.precision = MixedPrecision::f16}, std::nullopt).value(), 65536);
}

/// Two products around a norm, over each row or over the batch, with a loss whose gradients grow with the target.
Network scaled_network(bool over_batch = false) {
  const auto first = dense(8), second = dense(2);
  const LayerPtr norm = over_batch ? LayerPtr(batch_norm()) : LayerPtr(layer_norm());
  const auto forward = [=](Context& context, Columns& rows) -> NamedValues {
    const Value h = context.call("norm", *norm, context.call("fc1", *first, rows.at("x")));
    return {{"out", context.call("fc2", *second, relu(h))}};
  };
  const auto loss = [](Context&, Columns& rows, const NamedValues& out) -> NamedValues {
    return {{"loss", reduce_mean(square(find_output(out, "out") - rows.at("y")))}};
  };
  return {"scaled", forward, loss};
}

/// Rows of which the last one of step kBadStep has a target so large that its gradient is infinite in f16; that step's
/// loss is finite.
DatasetPtr rows_with_overflow(double target = 1e4) {
  const int64_t count = kScaledBatch * kScaledSteps;
  Array x(Type{DType::f64, {count, 5}}), y(Type{DType::f64, {count, 2}});
  for (int64_t i = 0; i < x.type().elements(); ++i) x.set(i, std::sin(static_cast<double>(3 * i + i % 7)));
  for (int64_t i = 0; i < y.type().elements(); ++i) y.set(i, std::cos(static_cast<double>(i)));
  y.set(2 * kScaledBatch * kBadStep - 1, target);
  return memory_rows({{"x", x}, {"y", y}});
}

JobConfig scaled_config(int ranks) {
  JobConfig config = small_config(ranks);
  config.training.precision = MixedPrecision::f16;
  const TrainingConfig scale = dynamic_scale(1024, 2);
  config.training.loss_scaling = scale.loss_scaling;
  config.training.loss_scale = scale.loss_scale;
  config.training.loss_scale_window = scale.loss_scale_window;
  config.training.batch = kScaledBatch;
  config.optimizer.clip_norm = 0.5;
  return config;
}

/// Records the events of a training, and all its states after each step.
class StateRecorder : public EventRecorder {
 public:
  std::vector<States> states;
  void on_train_begin(const TrainInfo& info) override { info_ = info; }
  void on_step_end(const StepInfo& info) override {
    EventRecorder::on_step_end(info);
    States& now = states.emplace_back();
    for (const State& state : info_.program->graph.states) {
      const std::string& name = info_.program->graph.values[static_cast<size_t>(state.entry)].name;
      now.emplace(name, info_.control->state(name));
    }
  }

 private:
  TrainInfo info_;
};

bool are_same_bits(const States& a, const States& b) {
  return a.size() == b.size() && std::ranges::all_of(a, [&](const auto& entry) {
           const Array& other = b.at(entry.first);
           return entry.second.type() == other.type() &&
                  std::memcmp(entry.second.data(), other.data(), static_cast<size_t>(other.type().bytes())) == 0;
         });
}

void expect_same_steps(const StateRecorder& got, const StateRecorder& expected, size_t from, const std::string& where) {
  ASSERT_EQ(got.steps.size(), expected.steps.size() - from) << where;
  for (size_t i = 0; i < got.steps.size(); ++i) {
    const StepInfo &own = got.steps[i], &other = expected.steps[i + from];
    EXPECT_EQ(own.skipped, other.skipped) << where << " step " << i + from;
    EXPECT_EQ(own.loss_scale, other.loss_scale) << where << " step " << i + from;
    EXPECT_NEAR(own.loss, other.loss, 1e-9 * std::max(1.0, other.loss)) << where << " step " << i + from;
    for (const auto& [name, values] : got.states[i]) {
      const Array& whole = expected.states[i + from].at(name);
      for (int64_t e = 0; e < whole.type().elements(); ++e) {
        ASSERT_NEAR(values.at(e), whole.at(e), 1e-9) << where << " " << name << " after step " << i + from;
      }
    }
  }
}

struct ScaledPlan {
  int ranks = 1;
  int64_t stages = 1, micro_batches = 1;
  int level = 0;
};

JobConfig planned(const ScaledPlan& plan) {
  JobConfig config = scaled_config(plan.ranks);
  config.plan.options.pipeline.stages = plan.stages;
  config.plan.options.micro_batches = plan.micro_batches;
  if (plan.level > 0) config.plan.options.zero = {.level = plan.level, .threshold = 0};
  return config;
}

TEST(LossScale, AnOverflowOnOneRankIsLeftOutByAll) {
  StateRecorder one;
  std::vector<std::string> warnings;
  Model model(scaled_network(), scaled_config(1), Place{.cores = 1});
  model.train(rows_with_overflow(), {.epochs = 1, .callbacks = {&one}});
  const std::vector<double> scales{1024, 1024, 2048, 1024, 1024, 2048};
  for (size_t i = 0; i < scales.size(); ++i) {
    EXPECT_EQ(one.steps[i].skipped, i + 1 == kBadStep) << i;
    EXPECT_EQ(one.steps[i].loss_scale, scales[i]) << i;
    EXPECT_TRUE(std::isfinite(one.steps[i].loss)) << i;
    if (i > 0) {
      EXPECT_EQ(are_same_bits(one.states[i], one.states[i - 1]), i + 1 == kBadStep) << i;
    }
  }
  for (const ScaledPlan& plan :
       {ScaledPlan{2, 1, 1, 0}, ScaledPlan{3, 1, 2, 2}, ScaledPlan{4, 2, 2, 3}, ScaledPlan{4, 1, 3, 3},
        ScaledPlan{2, 2, 4, 1}, ScaledPlan{6, 2, 2, 1}, ScaledPlan{8, 1, 1, 3}, ScaledPlan{8, 2, 3, 3}}) {
    const std::string where = fmt::format("{} ranks, {} stages, {} micro-batches, level {}", plan.ranks, plan.stages,
                                          plan.micro_batches, plan.level);
    StateRecorder several;
    Model(scaled_network(), planned(plan), Place{.cores = 1})
        .train(rows_with_overflow(), {.epochs = 1, .callbacks = {&several}});
    expect_same_steps(several, one, 0, where);
    EXPECT_TRUE(are_same_bits(several.states[kBadStep - 1], several.states[kBadStep - 2])) << where;
  }
}

TEST(LossScale, ABadStepLeavesTheStatisticsOfABatchNorm) {
  for (const ScaledPlan& plan : {ScaledPlan{1, 1, 1, 0}, ScaledPlan{4, 2, 2, 3}, ScaledPlan{3, 1, 2, 1}}) {
    StateRecorder seen;
    Model(scaled_network(/*over_batch=*/true), planned(plan), Place{.cores = 1})
        .train(rows_with_overflow(), {.epochs = 1, .callbacks = {&seen}});
    ASSERT_TRUE(seen.states[0].contains("norm.running_mean")) << seen.states[0].begin()->first;
    for (size_t i = 1; i < seen.steps.size(); ++i) {
      EXPECT_EQ(seen.steps[i].skipped, i + 1 == kBadStep);
      EXPECT_EQ(are_same_bits(seen.states[i], seen.states[i - 1]), seen.steps[i].skipped) << plan.ranks << " " << i;
    }
  }
}

TEST(LossScale, ResumesWithEqualBits) {
  for (const ScaledPlan& plan : {ScaledPlan{1, 1, 1, 0}, ScaledPlan{4, 2, 2, 3}}) {
    const TempDir folder;
    JobConfig config = planned(plan);
    StateRecorder whole;
    FitOptions options{.epochs = 1, .callbacks = {&whole}};
    options.checkpoints = CheckpointOptions{.folder = folder.path().string(), .every = 1, .keep = 0};
    Model(scaled_network(), config, Place{.cores = 1}).train(rows_with_overflow(), options);
    for (const size_t step : {2, 3, 4}) {
      Model model(scaled_network(), config, Place{.cores = 1});
      model.resume(fmt::format("{}/step_{}", folder.path().string(), step));
      StateRecorder rest;
      model.train(rows_with_overflow(), {.epochs = 1, .callbacks = {&rest}});
      expect_same_steps(rest, whole, step, fmt::format("resumed after {}", step));
      EXPECT_TRUE(are_same_bits(rest.states.back(), whole.states.back())) << step;
      EXPECT_EQ(rest.epochs.at(0).loss, whole.epochs.at(0).loss) << step;
    }
  }
}

TEST(LossScale, ResumesInAnEpochWithABadLoss) {
  JobConfig config = small_config(2);
  config.training.on_nan = OnNan::skip;
  config.schedule = {.learning_rate = 0.01};
  const TempDir folder;
  StateRecorder whole, rest;
  FitOptions options{.epochs = 1, .callbacks = {&whole}};
  options.checkpoints = CheckpointOptions{.folder = folder.path().string(), .every = 4};
  Model(scaled_network(), config, Place{.cores = 1}).train(rows_with_overflow(NAN), options);
  Model model(scaled_network(), config, Place{.cores = 1});
  model.resume(folder.path().string() + "/step_4");
  model.train(rows_with_overflow(NAN), {.epochs = 1, .callbacks = {&rest}});
  EXPECT_TRUE(std::isfinite(rest.epochs.at(0).loss));
  EXPECT_EQ(rest.epochs.at(0).loss, whole.epochs.at(0).loss);
  EXPECT_TRUE(are_same_bits(rest.states.back(), whole.states.back()));
}

std::string refusal_of_scale(const std::function<void(TrainingConfig&)>& change) {
  JobConfig config = small_config(1);
  change(config.training);
  try {
    Model(scaled_network(), config, Place{.cores = 1}).train(rows_with_overflow(), {.epochs = 1});
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "accepted";
}

TEST(LossScale, RefusesWhatHasNoEffect) {
  EXPECT_EQ(refusal_of_scale([](TrainingConfig& training) { training.loss_scaling = LossScaling::fixed; }),
            "[--loss-scaling] no scale, got static, expected --loss-scale NUMBER, or dynamic");
  EXPECT_EQ(refusal_of_scale([](TrainingConfig& training) {
              training.loss_scaling = LossScaling::off;
              training.loss_scale = 8;
            }),
            "[Model] training.loss_scale has no effect, got training.loss_scaling = off, expected "
            "training.loss_scaling = static");
  EXPECT_EQ(refusal_of_scale([](TrainingConfig& training) { training.loss_scale_window = 8; }),
            "[Model] training.loss_scale_window has no effect, got training.loss_scaling = off, expected "
            "training.loss_scaling = dynamic");
  EXPECT_EQ(refusal_of_scale([](TrainingConfig& training) {
              training.loss_scale = 8;
              training.loss_scale_factor = 3;
            }),
            "[Model] training.loss_scale_factor has no effect, got training.loss_scaling = static, expected "
            "training.loss_scaling = dynamic");
}

TEST(LossScale, IsANumberOfTheLoss) {
  const Place place{.cores = 1};
  JobConfig config = scaled_config(1);
  config.training.dtype = DType::f32;
  const ModelJob job{scaled_network(), completed(config, place), place, nullptr, [](const std::string&) {}};
  const std::vector<Column> columns{{"x", {DType::f32, {5}}}, {"y", {DType::f32, {2}}}};
  const Program program = job.program(columns, kScaledBatch, /*ranks=*/1, Purpose::training);
  ModelStates states;
  states.prepare(program.graph, /*seed=*/1, /*makes_them=*/true, /*resumes=*/false);
  const auto world = make_inproc_world(1);
  RankRun rank(program, states.all(), job.rank_options(), *world[0]);
  rank.feed_loss_scale(LossScaleState::kMaxScale);
  expect_error<InvalidArgument>([&] { rank.feed_loss_scale(1e39); },
                                "[loss scale] infinite in f32, got 1e+39, expected a number that it can hold");
}

TEST(LossScale, WarnsOfF16WithoutAScale) {
  JobConfig config = small_config(1);
  config.training.precision = MixedPrecision::f16;
  config.training.loss_scaling = LossScaling::off;
  testing::internal::CaptureStderr();
  Model(scaled_network(), config, Place{.cores = 1}).train(rows_with_overflow(), {.epochs = 1, .max_steps = 1});
  EXPECT_NE(testing::internal::GetCapturedStderr().find("[--precision] losses are not scaled, got f16: gradients below "
                                                        "6e-8 become 0, expected --loss-scaling dynamic, or bf16"),
            std::string::npos);
}

/// Returns the warnings of a training of one step in bf16 of a network of this layer before a loss.
std::string warnings_in_bf16(const LayerPtr& layer) {
  JobConfig config = small_config(1);
  config.training.precision = MixedPrecision::bf16;
  config.training.batch = kScaledBatch;
  const auto forward = [=](Context& context, Columns& rows) -> NamedValues {
    return {{"out", context.call("layer", *layer, rows.at("x"))}};
  };
  const auto loss = [](Context&, Columns&, const NamedValues& out) -> NamedValues {
    return {{"loss", reduce_mean(square(find_output(out, "out")))}};
  };
  testing::internal::CaptureStderr();
  Model(Network("one", forward, loss), config, Place{.cores = 1})
      .train(rows_with_overflow(), {.epochs = 1, .max_steps = 1});
  return testing::internal::GetCapturedStderr();
}

TEST(LossScale, WarnsOfAPrecisionWithoutProducts) {
  const char* warning = "[--precision] has no effect, got bf16: the network has no products, expected f32";
  EXPECT_NE(warnings_in_bf16(layer_norm()).find(warning), std::string::npos);
  EXPECT_EQ(warnings_in_bf16(dense(3)).find(warning), std::string::npos);
}

TEST(LossScale, AStepThatIsLeftOutIsNamed) {
  testing::internal::CaptureStderr();
  Model(scaled_network(), scaled_config(2), Place{.cores = 2}).train(rows_with_overflow(), {.epochs = 1});
  const std::string warning = testing::internal::GetCapturedStderr();
  EXPECT_NE(
      warning.find(" on rank 1; in step 3, of rows 48 to 71 of epoch 1; nothing is updated, the next loss scale is "
                   "1024"),
      std::string::npos)
      << warning;
}

TEST(LossScale, TenBadStepsInARowEndTheTraining) {
  const int64_t count = 12 * kScaledBatch;
  Array x(Type{DType::f64, {count, 5}}), y(Type{DType::f64, {count, 2}});
  for (int64_t i = 0; i < y.type().elements(); ++i) y.set(i, NAN);
  JobConfig config = small_config(1);
  config.training.on_nan = OnNan::skip;
  StateRecorder seen;
  std::string reason;
  try {
    Model(scaled_network(), config, Place{.cores = 1})
        .train(memory_rows({{"x", x}, {"y", y}}), {.epochs = 1, .callbacks = {&seen}});
  } catch (const RuntimeFailure& error) {
    reason = error.what();
  }
  EXPECT_EQ(seen.steps.size(), 9U);
  EXPECT_TRUE(reason.ends_with("; in step 10, of rows 216 to 239 of epoch 1; 10 steps in a row were not finite"))
      << reason;
}

TEST(LossScale, IsInFilesOfWholeTrainings) {
  const TempDir folder;
  const std::string file = (folder.path() / "whole.safetensors").string();
  StateRecorder whole, rest;
  JobConfig config = scaled_config(2);
  config.schedule = {.learning_rate = 0.01};
  Model model(scaled_network(), config, Place{.cores = 1});
  model.train(rows_with_overflow(), {.epochs = 1, .max_steps = 4, .callbacks = {&whole}});
  model.save_checkpoint(file);
  Model again(scaled_network(), config, Place{.cores = 1});
  again.resume(file);
  again.train(rows_with_overflow(), {.epochs = 1, .callbacks = {&rest}});
  StateRecorder at_once;
  Model(scaled_network(), config, Place{.cores = 1})
      .train(rows_with_overflow(), {.epochs = 1, .callbacks = {&at_once}});
  expect_same_steps(rest, at_once, 4, "from a file");
}

TEST(LossScale, AStaticOneEndsTheTrainingUnlessItSkips) {
  JobConfig config = scaled_config(3);
  config.training.loss_scaling = LossScaling::fixed;
  config.training.loss_scale_window = TrainingConfig().loss_scale_window;
  StateRecorder stopped, skipped;
  std::string reason;
  try {
    Model(scaled_network(), config, Place{.cores = 1})
        .train(rows_with_overflow(), {.epochs = 1, .callbacks = {&stopped}});
  } catch (const RuntimeFailure& error) {
    EXPECT_EQ(error.code(), ExitCode::non_finite);
    reason = error.what();
  }
  EXPECT_TRUE(
      reason.starts_with("[train] the gradients are not finite, got NaN or infinity, expected numbers: first made "
                         "by round"))
      << reason;
  EXPECT_TRUE(reason.ends_with(" on rank 2; in step 3, of rows 48 to 71 of epoch 1")) << reason;
  EXPECT_EQ(stopped.steps.size(), 2U);
  config.training.on_nan = OnNan::skip;
  Model(scaled_network(), config, Place{.cores = 1})
      .train(rows_with_overflow(), {.epochs = 1, .callbacks = {&skipped}});
  ASSERT_EQ(skipped.steps.size(), 6U);
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(skipped.steps[i].skipped, i == 2) << i;
}

// Without 16 bits and without a scale, a step with a loss that is no number can be left out as well.
TEST(LossScale, ABadLossIsLeftOutOfTheMean) {
  JobConfig config = small_config(2);
  config.training.on_nan = OnNan::skip;
  StateRecorder seen;
  Model(scaled_network(), config, Place{.cores = 1})
      .train(rows_with_overflow(NAN), {.epochs = 1, .callbacks = {&seen}});
  double sum = 0;
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(seen.steps[i].skipped, i == 2) << i;
    EXPECT_EQ(seen.steps[i].loss_scale, 1) << i;
    EXPECT_EQ(std::isfinite(seen.steps[i].loss), i != 2) << i;
    if (i != 2) sum += seen.steps[i].loss;
  }
  EXPECT_TRUE(are_same_bits(seen.states[2], seen.states[1]));
  EXPECT_DOUBLE_EQ(seen.epochs.at(0).loss, sum / 5);
}

// A power of 2 changes no bit of a training that rounds nothing.
TEST(LossScale, ChangesNoBitOfATrainingInF64) {
  JobConfig config = small_config(2);
  StateRecorder plain, scaled;
  Model(scaled_network(), config, Place{.cores = 1}).train(rows_with_overflow(), {.epochs = 1, .callbacks = {&plain}});
  config.training.loss_scaling = LossScaling::dynamic;
  config.training.loss_scale_window = 2;
  Model(scaled_network(), config, Place{.cores = 1}).train(rows_with_overflow(), {.epochs = 1, .callbacks = {&scaled}});
  EXPECT_TRUE(are_same_bits(plain.states.back(), scaled.states.back()));
  EXPECT_EQ(scaled.steps.back().loss_scale, 65536 * 4);
}

}  // namespace
}  // namespace partita
