// Models in 16 bits: trained, evaluated, saved and resumed.

#include <gtest/gtest.h>

#include <cmath>

#include "frontend/data/readers/test_files.h"
#include "training/model.h"
#include "training/test_training.h"

namespace partita {
namespace {

JobConfig mixed_config(int ranks, MixedPrecision precision) {
  JobConfig config = small_config(ranks);
  config.training.precision = precision;
  return config;
}

struct MixedNumbers {
  std::vector<double> losses;
  Metrics test;
};

MixedNumbers trained_mixed(const JobConfig& config, const std::string& resume = "", const std::string& checkpoint = "",
                           int64_t epochs = 2) {
  Model model(small_network(), config, Place{.cores = 1});
  if (!resume.empty()) model.resume(resume);
  EventRecorder events;
  FitOptions options{.epochs = epochs, .callbacks = {&events}};
  if (!checkpoint.empty()) options.checkpoints = CheckpointOptions{.folder = checkpoint, .every = 4};
  model.train(rows_of(Split::train), options);
  MixedNumbers seen;
  for (const StepInfo& step : events.steps) seen.losses.push_back(step.loss);
  seen.test = model.eval(rows_of(Split::test));
  return seen;
}

// An evaluation has the same numbers on any ranks, also where the parameters are sharded.
TEST(ModelPrecision, RanksAndLevelsChangeNoNumber) {
  for (const MixedPrecision precision : {MixedPrecision::bf16, MixedPrecision::f16}) {
    const MixedNumbers one = trained_mixed(mixed_config(1, precision));
    for (const int level : {0, 1, 2, 3}) {
      JobConfig config = mixed_config(3, precision);
      if (level > 0) config.plan.options.zero = {.level = level, .threshold = 0};
      const MixedNumbers several = trained_mixed(config);
      for (size_t i = 0; i < one.losses.size(); ++i) EXPECT_NEAR(several.losses[i], one.losses[i], 1e-9) << level;
      EXPECT_NEAR(several.test.loss, one.test.loss, 1e-9) << level;
      EXPECT_EQ(several.test.accuracy(), one.test.accuracy()) << level;
    }
  }
}

TEST(ModelPrecision, IsSeenInTheNumbers) {
  const MixedNumbers full = trained_mixed(small_config(1)), half = trained_mixed(mixed_config(1, MixedPrecision::bf16));
  for (size_t i = 0; i < full.losses.size(); ++i) {
    EXPECT_NE(half.losses[i], full.losses[i]);
    EXPECT_NEAR(half.losses[i], full.losses[i], 2e-2 * full.losses[i]);
  }
  JobConfig whole = mixed_config(1, MixedPrecision::bf16);
  whole.training.precision_of = {"net=f32"};
  EXPECT_EQ(trained_mixed(whole).losses, full.losses) << "no layer is left";
}

TEST(ModelPrecision, CheckpointsContinueInAnyPrecision) {
  const TempDir folder;
  const auto precisions = {MixedPrecision::f32, MixedPrecision::bf16, MixedPrecision::f16};
  for (const MixedPrecision first : precisions) {
    const std::string run = (folder.path() / std::string(name_of(first))).string();
    const MixedNumbers whole = trained_mixed(mixed_config(1, first), "", run);
    for (const MixedPrecision next : precisions) {
      const MixedNumbers rest = trained_mixed(mixed_config(2, next), run + "/step_4");
      ASSERT_EQ(rest.losses.size(), whole.losses.size() - 4);
      const double tolerance = next == first ? 1e-9 : 2e-2;
      for (size_t i = 0; i < rest.losses.size(); ++i) EXPECT_NEAR(rest.losses[i], whole.losses[i + 4], tolerance);
    }
  }
}

TEST(ModelPrecision, LayersHaveTheirOwn) {
  const auto losses_with = [](MixedPrecision precision, const std::vector<std::string>& precision_of, int ranks = 1) {
    JobConfig config = mixed_config(ranks, precision);
    config.training.precision_of = precision_of;
    return trained_mixed(config).losses;
  };
  const std::vector<double> one = losses_with(MixedPrecision::f32, {"net/fc1=bf16"});
  EXPECT_NE(one, losses_with(MixedPrecision::f32, {"net/fc2=bf16"}));
  EXPECT_EQ(one, losses_with(MixedPrecision::bf16,
                             {"net=f32", "net/fc*=f32", "net/fc1/matmul=bf16", "net/fc1/bias_add=bf16"}))
      << "the longest path counts";
  EXPECT_EQ(losses_with(MixedPrecision::f32, {"net=f16"}), losses_with(MixedPrecision::f16, {}));
  const std::vector<std::string> both{"net/fc1=bf16", "net/fc2=f16"};
  const std::vector<double> first = losses_with(MixedPrecision::f32, both), several = losses_with({}, both, 3);
  for (size_t i = 0; i < first.size(); ++i) EXPECT_NEAR(several[i], first[i], 1e-9) << i;
}

std::string refusal_of_precision(const std::vector<std::string>& precision_of, MixedPrecision precision,
                                 Residual residual = Residual::half) {
  JobConfig config = mixed_config(1, precision);
  config.training.precision_of = precision_of;
  config.training.residual = residual;
  try {
    trained_mixed(config);
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "accepted";
}

TEST(ModelPrecision, RefusesWhatItCannotMean) {
  for (const std::string text : {"net/fc1", "net/fc1=f64", "=f32", "net/fc1="}) {
    EXPECT_EQ(refusal_of_precision({text}, MixedPrecision::bf16),
              fmt::format("[--precision-of] not a precision of layers, got '{}', expected LAYERS=f32, LAYERS=bf16 or "
                          "LAYERS=f16, such as net/h/0..5=f32",
                          text));
  }
  EXPECT_EQ(refusal_of_precision({"net/fc1=f32"}, MixedPrecision::f32),
            "[--precision-of] has no effect, got net/fc1=f32 with --precision f32, expected --precision bf16 or "
            "no --precision-of");
  EXPECT_EQ(refusal_of_precision({}, MixedPrecision::f32, Residual::f32),
            "[--residual] has no effect, got f32 with --precision f32, expected --precision bf16 or no --residual");
  EXPECT_EQ(refusal_of_precision({"net/fc1=f32", "net/*=bf16"}, MixedPrecision::f32).substr(0, 98),
            "[--precision-of] a layer has two precisions, got 'net/fc1=f32' and 'net/*=bf16' for net/fc1/matmul");
  const std::string unknown = refusal_of_precision({"net/fd1=f32"}, MixedPrecision::bf16);
  EXPECT_NE(unknown.find("[--precision-of] unknown layer, got 'net/fd1', expected one of the"), std::string::npos);
  EXPECT_NE(unknown.find("did you mean 'net/fc1'?"), std::string::npos) << unknown;
  EXPECT_NE(refusal_of_precision({"loss=bf16"}, MixedPrecision::bf16).find("unknown layer, got 'loss'"),
            std::string::npos);
}

TEST(ModelPrecision, RefusesALayerWithoutProducts) {
  EXPECT_EQ(refusal_of_precision({"net/relu1=f16"}, MixedPrecision::f32),
            "[--precision-of] has no effect, got net/relu1=f16, a layer without products that no value of 16 bits "
            "enters, expected a layer with products");
  EXPECT_EQ(refusal_of_precision({"net/relu1=f32"}, MixedPrecision::bf16), "accepted")
      << "a value of 16 bits enters it";
  EXPECT_EQ(refusal_of_precision({"net/relu1=bf16", "net/fc1=bf16"}, MixedPrecision::f32), "accepted");
  EXPECT_EQ(refusal_of_precision({"net/dropout1=bf16", "net/fc2=bf16"}, MixedPrecision::f32), "accepted")
      << "the gradient that enters it has 16 bits";
  EXPECT_EQ(refusal_of_precision({"net/fc1=f32", "net/fc1/*=bf16"}, MixedPrecision::f32), "accepted")
      << "all nodes of a path have longer ones";
}

// Evaluations and predictions know the layers of a training, which they may lack themselves.
TEST(ModelPrecision, EvaluationsAndPredictionsRefuseUnknownLayers) {
  const std::vector<Column> with_labels = rows_of(Split::test)->columns(), rows{with_labels.at(0)};
  for (const bool is_known : {false, true}) {
    JobConfig config = mixed_config(1, MixedPrecision::bf16);
    config.training.precision_of = {is_known ? "net/dropout1=f32" : "net/dropuot1=f32"};
    const auto refusal_of = [](const std::function<void()>& call) -> std::string {
      try {
        call();
      } catch (const InvalidArgument& error) {
        EXPECT_EQ(error.kind(), ErrorKind::key);
        return error.what();
      }
      return "accepted";
    };
    const std::string expected = is_known ? "accepted"
                                          : "[--precision-of] unknown layer, got 'net/dropuot1', expected one of the 5 "
                                            "scopes of graph mlp, did you mean 'net/dropout1'?";
    Model model(small_network(), config, Place{.cores = 1});
    EXPECT_EQ(refusal_of([&] { model.eval(rows_of(Split::test)); }), expected);
    EXPECT_EQ(refusal_of([&] { model.predictor(with_labels, /*rows=*/1); }), expected);
    EXPECT_EQ(refusal_of([&] { model.predictor(rows, /*rows=*/1); }), expected) << "rows without labels";
    EXPECT_EQ(refusal_of([&] { model.train(rows_of(Split::train), {.epochs = 1, .max_steps = 1}); }), expected);
  }
}

}  // namespace
}  // namespace partita
