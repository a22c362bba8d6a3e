// Learning rates by layer: a step of gradient descent moves each parameter by its factor, on any number of ranks.

#include <gtest/gtest.h>

#include <cmath>

#include "frontend/data/readers/memory_rows.h"
#include "support/token_trainings.h"
#include "training/model.h"
#include "zoo/zoo_job.h"

namespace partita {
namespace {

JobConfig rates_config(int ranks, std::vector<std::string> rates, const PlanOptions& plan = {}) {
  JobConfig config = configured("gpt:layers=2,hidden=16,heads=4,seq=6,vocab=20", {});
  config.training.batch = 24;
  config.training.dtype = DType::f64;
  config.optimizer = {.kind = OptimizerKind::sgd, .rate_of = std::move(rates)};
  config.schedule = {.kind = LrKind::constant, .learning_rate = 0.5};
  config.ranks = {.count = ranks, .threads = 1};
  config.plan.options = plan;
  config.console.quiet = true;
  return config;
}

States after_a_step(const JobConfig& config) {
  const Shape shape{24, 6};
  Model model(config, Place{.cores = 8});
  model.on_warning([](const std::string&) {});
  model.train(
      memory_rows({{"tokens", random_ids(3, "tokens", shape, 20)}, {"label", random_ids(3, "label", shape, 20)}}),
      {.max_steps = 1});
  return model.states();
}

TEST(Rates, MoveEachParameterByItsFactor) {
  const States still = after_a_step(rates_config(1, {"*=0"})), full = after_a_step(rates_config(1, {}));
  const std::vector<std::string> rates{"*=0.25", "h.0.*=2", "h.*.mlp.proj.*=0"};
  const auto factor_of = [](const std::string& name) {
    if (name.starts_with("h.") && name.find(".mlp.proj.") != std::string::npos) return 0.0;
    return name.starts_with("h.0.") ? 2.0 : 0.25;
  };
  PlanOptions stages, tensor{.parallel = Parallel::automatic}, zero;
  stages.pipeline.stages = 2;
  stages.micro_batches = 2;
  tensor.blocks.tensor = 2;
  zero.zero.level = 3;
  for (const auto& [ranks, plan] :
       {std::pair{1, PlanOptions()}, {2, PlanOptions()}, {3, PlanOptions()}, {4, stages}, {4, tensor}, {4, zero}}) {
    const States own = after_a_step(rates_config(ranks, rates, plan));
    double moved = 0;
    for (const auto& [name, value] : own) {
      for (int64_t i = 0; i < value.type().elements(); ++i) {
        const double expected = still.at(name).at(i) + factor_of(name) * (full.at(name).at(i) - still.at(name).at(i));
        ASSERT_NEAR(value.at(i), expected, 1e-12) << name << " on " << ranks;
        moved += std::abs(value.at(i) - still.at(name).at(i));
      }
    }
    EXPECT_GT(moved, 0.1);
  }
}

TEST(Rates, ThatNameNothingAreRefused) { EXPECT_THROW(after_a_step(rates_config(2, {"head.*=0.5"})), InvalidArgument); }

}  // namespace
}  // namespace partita
