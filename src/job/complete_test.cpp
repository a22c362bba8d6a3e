#include <gtest/gtest.h>

#include <cmath>

#include "job/config.h"
#include "job/process.h"
#include "runtime/launch/place.h"

namespace partita {
namespace {

const Place kAlone{.cores = 8};

Place process(int ranks, int here) {
  return {.launched = LaunchedRank{.size = ranks, .local_size = here, .launcher = "mpirun"}, .cores = 8};
}

std::string refusal(const JobConfig& config, const Place& place = kAlone) {
  try {
    verify_training(completed(config, place), place);
    return "";
  } catch (const InvalidArgument& error) {
    return error.what();
  }
}

TEST(CompletedConfig, RanksShareTheCores) {
  EXPECT_EQ(completed({}, kAlone).ranks.count, 1);
  EXPECT_EQ(completed({}, kAlone).ranks.threads, 8);
  EXPECT_EQ(completed({.ranks = {.count = 3}}, kAlone).ranks.threads, 2);
  EXPECT_EQ(completed({.ranks = {.count = 4096}}, kAlone).ranks.threads, 1);
  EXPECT_EQ(completed({.ranks = {.count = 3, .threads = 5}}, kAlone).ranks.threads, 5);
}

// A launcher may bind each rank to cores of its own, of which the ranks of a host may have different numbers.
TEST(CompletedConfig, RanksUseTheCoresToWhichTheyAreBound) {
  const auto threads = [](int ranks, int cores, int own, int team) {
    Place place = process(ranks, ranks);
    place.cores = cores;
    place.own_cores = own;
    place.team_threads = team;
    return completed({}, place).ranks.threads;
  };
  EXPECT_EQ(threads(2, 2, 1, 64), 1);
  EXPECT_EQ(threads(4, 16, 4, 64), 4) << "each has four cores of its own";
  EXPECT_EQ(threads(4, 16, 8, 64), 4) << "two share a socket";
  EXPECT_EQ(threads(4, 16, 16, 64), 4) << "none is bound";
  EXPECT_EQ(threads(4, 16, 2, 64), 2);
  EXPECT_EQ(threads(4, 16, 16, 3), 3);
  EXPECT_EQ(threads(8, 4, 1, 64), 1);
  // One process of mpirun, which binds it: its ranks are threads.
  Place one = process(1, 1);
  one.own_cores = 2;
  EXPECT_EQ(completed({}, one).ranks.threads, 2);
  EXPECT_EQ(completed({.ranks = {.count = 2}}, one).ranks.threads, 1);
  EXPECT_EQ(one.alone().cores, 2);
  EXPECT_FALSE(one.alone().launched);
}

TEST(CompletedConfig, TooManyThreadsAreAWarning) {
  const auto warning = [](int ranks, int threads, const Place& place) {
    std::string text;
    warn_of_oversubscription({.ranks = {.count = ranks, .threads = threads}}, place,
                             [&](const std::string& message) { text = message; });
    return text;
  };
  Place bound = process(4, 4);
  bound.own_cores = 2;
  EXPECT_EQ(warning(4, 2, bound), "");
  EXPECT_EQ(warning(4, 3, bound), "[threads] 4 ranks x 3 threads share 8 cores");
  bound.cores = 16;
  EXPECT_EQ(warning(4, 3, bound), "[threads] 3 threads of a rank share the 2 cores to which it is bound");
  EXPECT_EQ(warning(2, 4, kAlone), "");
  EXPECT_EQ(warning(2, 5, kAlone), "[threads] 2 ranks x 5 threads share 8 cores");
}

TEST(CompletedConfig, ALauncherSaysHowManyRanksThereAre) {
  const JobConfig config = completed({}, process(16, 4));
  EXPECT_EQ(config.ranks.count, 16);
  EXPECT_EQ(config.ranks.threads, 2);
  EXPECT_EQ(completed({.ranks = {.count = 16}}, process(16, 4)).ranks.count, 16);
  EXPECT_EQ(refusal({.ranks = {.count = 8}}, process(16, 4)),
            "[--ranks] mpirun started another number of ranks, got 8, expected 16 or no --ranks");
}

TEST(CompletedConfig, StatisticsAreLocalWhereRanksDifferInTheirRows) {
  const auto statistics = [](int ranks, Parallel parallel) {
    return *completed({.ranks = {.count = ranks}, .plan = {.options = {.parallel = parallel}}}, kAlone)
                .training.batch_norm;
  };
  EXPECT_EQ(statistics(1, Parallel::data), BatchNormStatistics::global);
  EXPECT_EQ(statistics(2, Parallel::data), BatchNormStatistics::local);
  EXPECT_EQ(statistics(2, Parallel::hybrid), BatchNormStatistics::local);
  EXPECT_EQ(statistics(2, Parallel::automatic), BatchNormStatistics::global);
}

TEST(CompletedConfig, IsCompletedOnce) {
  const JobConfig once = completed({.ranks = {.count = 4}}, kAlone);
  const JobConfig twice = completed(once, kAlone);
  EXPECT_EQ(twice.ranks.threads, once.ranks.threads);
  EXPECT_EQ(twice.training.batch_norm, once.training.batch_norm);
  EXPECT_EQ(twice.evaluation.batch, once.evaluation.batch);
}

TEST(CompletedConfig, PartsThatDoNotFitAreRefused) {
  EXPECT_EQ(refusal({.training = {.batch = 10}, .ranks = {.count = 4}}),
            "[train] the global batch does not divide, got batch 10 on 4 ranks, expected a multiple of 4: 8 or 12, "
            "or --parallel hybrid");
  const PlanOptions even{.uneven = Uneven::error};
  EXPECT_EQ(refusal({.training = {.batch = 10}, .ranks = {.count = 4}, .plan = {.options = even}}),
            "[train] the global batch does not divide, got batch 10 on 4 ranks, expected a multiple of 4: 8 or 12");
  EXPECT_EQ(
      refusal({.training = {.batch = 10}, .ranks = {.count = 4}, .plan = {.options = {.parallel = Parallel::hybrid}}}),
      "");
  EXPECT_NE(refusal({.ranks = {.count = 257}}).find("[--ranks] too many for one process, got 257, expected 1 to 256"),
            std::string::npos);
  EXPECT_EQ(refusal({.training = {.batch = 600}, .ranks = {.count = 300}}, process(300, 4)), "");
  EXPECT_NE(refusal({.ranks = {.threads = 65}}).find("[--threads] out of range, got 65, expected 0 to 64"),
            std::string::npos);
  EXPECT_NE(refusal({.training = {.gradients = GradientReduction::sum},
                     .ranks = {.count = 2},
                     .plan = {.options = {.parallel = Parallel::automatic}}})
                .find("[--gradients sum] has no effect"),
            std::string::npos);
  EXPECT_EQ(refusal({.training = {.micro_loss = MicroLoss::sum}}),
            "[--micro-loss sum] has no effect, got --micro-batches 1, expected 2 micro-batches or more, or "
            "--micro-loss mean");
  EXPECT_EQ(refusal({.training = {.micro_loss = MicroLoss::sum}, .plan = {.options = {.micro_batches = 4}}}), "");
  EXPECT_NE(refusal({.training = {.batch_norm = BatchNormStatistics::local},
                     .ranks = {.count = 2},
                     .plan = {.options = {.parallel = Parallel::semi}}})
                .find("[--batch-norm local] has no effect"),
            std::string::npos);
  EXPECT_NE(refusal({.files = {.checkpoint_every = 3}}).find("[--checkpoint-every] has no effect"), std::string::npos);
  EXPECT_NE(refusal({.files = {.load = "a", .resume = "b"}}).find("[--load] has no effect"), std::string::npos);
  EXPECT_NE(refusal({.console = {.quiet = true, .verbose = true}}).find("[--quiet] excludes --verbose"),
            std::string::npos);
  EXPECT_NE(refusal({.schedule = {.learning_rate = 1e300}}).find("infinite in f32"), std::string::npos);
}

// A command and a configuration file check each value when they parse it; a program fills the fields itself.
TEST(CompletedConfig, FieldsHoldValuesThatTheirOptionsTake) {
  const auto expect = [](const JobConfig& config, const std::string& key) {
    EXPECT_EQ(refusal(config).substr(0, key.size() + 2), "[" + key + "]") << refusal(config);
  };
  expect({.data = {.resize = -1}}, "data.resize");
  expect({.training = {.batch = -5}}, "training.batch");
  expect({.training = {.epochs = -1}}, "training.epochs");
  expect({.optimizer = {.momentum = std::nan("")}}, "optimizer.momentum");
  expect({.schedule = {.kind = LrKind::step, .step_every = -1}}, "schedule.step_every");
  expect({.schedule = {.kind = LrKind::step, .step_factor = std::nan("")}}, "schedule.step_factor");
  expect({.evaluation = {.top = 0}}, "evaluation.top");
  expect({.ranks = {.count = -2}}, "ranks.count");
  expect({.plan = {.options = {.micro_batches = 0}}}, "plan.micro_batches");
  expect({.plan = {.options = {.zero = {.level = 4}}}}, "plan.zero");
  expect({.files = {.checkpoint_seconds = -1}}, "files.checkpoint_seconds");
}

}  // namespace
}  // namespace partita
