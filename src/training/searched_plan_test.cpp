// Plans that a program asks for with plan.file = "auto".

#include <gtest/gtest.h>

#include "planner/plan_file/plan_file.h"
#include "training/test_training.h"
#include "zoo/zoo_job.h"

namespace partita {
namespace {

const Place kTwoCores{.cores = 2};

/// A training of a perceptron on images that are not of the size that it takes by default.
JobConfig searched(const std::string& file = "auto") {
  JobConfig config = configured("mlp:hidden=8,layers=1", {});
  config.data.resize = 8;
  config.training.batch = 24;
  config.training.epochs = 0;
  config.training.steps = 2;
  config.training.evaluate = false;
  config.ranks = {.count = 2, .threads = 1};
  config.plan.file = file;
  return config;
}

std::string refusal_of_plan(const JobConfig& config) {
  try {
    Model(small_network(), config, kTwoCores);
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "";
}

TEST(SearchedPlan, IsForTheRowsOfTheJob) {
  Model model(searched(), kTwoCores);
  EXPECT_EQ(model.config().ranks.count, 2);
  EXPECT_TRUE(model.config().plan.given.has_value());
  EXPECT_EQ(model.train({.prints = false}).step, 2);
}

TEST(SearchedPlan, TakesAModelOfTheZooAndACluster) {
  EXPECT_EQ(refusal_of_plan(searched("auto:nowhere")).substr(0, 9), "[cluster]");
  JobConfig no_model = searched();
  no_model.model.clear();
  EXPECT_EQ(refusal_of_plan(no_model),
            "[plan.file] only models of the zoo can be searched by name, got auto without a model, expected model = "
            "\"...\" or the file of a plan");
}

}  // namespace
}  // namespace partita
