// Every recipe learns its generated rows, in f32 and in bf16: small models, a few steps.

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "frontend/data/views/part.h"
#include "training/model.h"
#include "zoo/zoo_job.h"

namespace partita {
namespace {

struct LearningCase {
  std::string spec;
  int64_t batch, steps;
  double ratio;         // maximum ratio of the loss of the last eighth of steps to that of the first
  double apart = 0.15;  // how far that loss in 16 bits may be from f32's, as a share of what it fell by
};

/// Trains the model and returns the losses of all steps.
std::vector<double> losses_of(const LearningCase& one, MixedPrecision precision = MixedPrecision::f32) {
  JobConfig config = configured(one.spec, {});
  config.training.precision = precision;
  config.training.batch = one.batch;
  config.training.epochs = 1;
  config.schedule.warmup_steps = std::min<int64_t>(config.schedule.warmup_steps, one.steps / 8);
  config.ranks = {.count = 1, .threads = 1};
  const ZooJob job(config, Place{.cores = 1});
  std::vector<double> losses;
  LambdaCallback keep;
  keep.step_end = [&](const StepInfo& info) { losses.push_back(info.loss); };
  Model model(job, Place{.cores = 1});
  model.train(take(job.rows(Split::train), one.steps * one.batch), {.callbacks = {&keep}});
  return losses;
}

class Recipes : public testing::TestWithParam<LearningCase> {};

TEST_P(Recipes, LossesFall) {
  const std::vector<double> losses = losses_of(GetParam());
  ASSERT_EQ(static_cast<int64_t>(losses.size()), GetParam().steps);
  const auto share = static_cast<std::ptrdiff_t>(losses.size() / 8);
  const double first = std::accumulate(losses.begin(), losses.begin() + share, 0.0);
  const double last = std::accumulate(losses.end() - share, losses.end(), 0.0);
  EXPECT_TRUE(std::isfinite(last));
  EXPECT_LT(last / first, GetParam().ratio)
      << GetParam().spec << ": from " << losses.front() << " to " << losses.back();
  // In 16 bits the loss falls as far. It is that of a few small batches, and so not as near as a mean over all rows.
  const std::vector<double> rounded = losses_of(GetParam(), MixedPrecision::bf16);
  ASSERT_EQ(rounded.size(), losses.size());
  const double last_rounded = std::accumulate(rounded.end() - share, rounded.end(), 0.0);
  EXPECT_NEAR(last_rounded, last, GetParam().apart * (first - last)) << GetParam().spec;
}

INSTANTIATE_TEST_SUITE_P(
    Zoo, Recipes,
    testing::Values(LearningCase{"mlp:hidden=32", 32, 64, 0.5}, LearningCase{"lenet", 16, 64, 0.8},
                    LearningCase{"resnet50:width=16,classes=4", 32, 128, 0.9},
                    LearningCase{"wide_resnet:width=8,classes=4", 32, 128, 0.9},
                    // Batch norms of two channels: six seeds differ by a third, in either precision.
                    LearningCase{"inception:width=2,classes=4", 16, 96, 0.93, 0.5},
                    LearningCase{"vit:layers=1,hidden=32,size=16,patch=4,classes=4", 32, 96, 0.8},
                    LearningCase{"gpt:layers=1,hidden=32,heads=2,seq=32", 16, 96, 0.7},
                    LearningCase{"llama:layers=1,hidden=32,heads=2,seq=32", 16, 96, 0.7},
                    LearningCase{"moe:layers=1,hidden=32,heads=2,seq=32,experts=4", 16, 96, 0.7},
                    LearningCase{"bert:layers=1,hidden=32,heads=2,seq=32", 32, 96, 0.7},
                    LearningCase{"t5:layers=1,hidden=32,heads=2,seq=8,target=16", 32, 96, 0.7},
                    LearningCase{"recommender", 64, 64, 0.7}),
    [](const testing::TestParamInfo<LearningCase>& one) { return one.param.spec.substr(0, one.param.spec.find(':')); });

}  // namespace
}  // namespace partita
