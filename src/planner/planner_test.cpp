#include "planner/planner.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "frontend/data/readers/test_files.h"
#include "planner/cluster/presets.h"
#include "planner/cluster/toml.h"
#include "planner/saved_plan.h"
#include "zoo/zoo.h"

namespace partita {
namespace {

constexpr const char* kModel = "gpt:layers=4,hidden=32,heads=4,seq=16";

void expect_refused(const std::function<void()>& call, const std::string& message) {
  try {
    call();
    FAIL() << "nothing was refused, expected " << message;
  } catch (const InvalidArgument& error) {
    EXPECT_EQ(std::string(error.what()).substr(0, message.size()), message);
  }
}

/// A model of the zoo as a network of the calling program.
TrainedNetwork own_network() {
  ZooModel model = make_model(kModel);
  model.recipe.model.clear();
  return {model.network(model.recipe.training.loss), model.recipe, model.columns()};
}

TEST(Planner, AnswersForAnOwnNetworkAsForTheModel) {
  for (const char* cluster : {"cpu", "h100"}) {
    SCOPED_TRACE(cluster);
    const PlannedJob model = plan({.model = kModel, .cluster = cluster, .ranks = 4, .batch = 24}),
                     own = plan({.network = own_network(), .cluster = cluster, .ranks = 4, .batch = 24});
    EXPECT_EQ(own.priced.model, "gpt");
    EXPECT_EQ(own.priced.configuration, model.priced.configuration);
    EXPECT_EQ(own.priced.price.step_seconds, model.priced.price.step_seconds);
    EXPECT_EQ(own.priced.price.peak_memory(), model.priced.price.peak_memory());
    EXPECT_EQ(own.priced.lower_bound_seconds, model.priced.lower_bound_seconds);
    EXPECT_EQ(print_layers(own), print_layers(model));
    EXPECT_EQ(print_others(own), print_others(model));
    EXPECT_EQ(plan_file_of(own).cuts->lines.size(), plan_file_of(model).cuts->lines.size());
    EXPECT_EQ(plan_file_of(own).model, "");
    EXPECT_NE(plan_page(own).find("<svg"), std::string::npos);
  }
}

TEST(Planner, DecidesThePlanAndTheRanksOfAConfiguration) {
  TrainedNetwork network = own_network();
  network.config.ranks = {.count = 3, .threads = 7};
  network.config.plan.options = {.micro_batches = 5, .pipeline = {.stages = 3}};
  const PlannedJob usual = plan({.network = own_network(), .ranks = 4, .batch = 24}),
                   other = plan({.network = network, .ranks = 4, .batch = 24});
  EXPECT_EQ(print(other.priced.configuration), print(usual.priced.configuration));
  EXPECT_EQ(other.priced.price.peak_memory(), usual.priced.price.peak_memory());
}

TEST(Planner, PricesWhatItFound) {
  const PlanRequest request{.model = kModel, .cluster = "v100", .batch = 24};
  const PlannedJob found = plan(request);
  const PlannedJob fixed = price(request, found.priced.configuration);
  EXPECT_TRUE(found.fits && fixed.fits);
  EXPECT_EQ(fixed.priced.price.step_seconds, found.priced.price.step_seconds);
  EXPECT_EQ(fixed.memory, found.memory);
  EXPECT_EQ(print_layers(fixed), print_layers(found));
  EXPECT_FALSE(found.runner_up);
  PlanRequest compares = request;
  compares.runner_up = true;
  EXPECT_EQ(others(plan(compares)).size(), 1 + known_templates().size());
}

TEST(Planner, ReadsTheFileOfAClusterOnce) {
  const TempDir folder;
  const std::string path = folder.path() / "cluster.toml";
  const Configuration searched = parse_configuration("data=4,tensor=2,cuts=searched");
  std::ofstream(path) << print(cluster_named("v100"));
  const PlannedJob job = price({.model = kModel, .cluster = path, .batch = 24}, searched),
                   large = plan({.model = kModel, .cluster = path, .batch = 24, .memory = 1e5});
  std::filesystem::remove(path);
  EXPECT_GT(plan_file_of(job).predicted->step_seconds, 0);
  EXPECT_FALSE(remedies(large).empty());
}

TEST(Planner, SaysWhatATrainingRuns) {
  const PlannedJob job = price({.model = kModel, .batch = 24}, parse_configuration("data=2,tensor=2,micro_batch=6"));
  const JobConfig config = config_of(job);
  EXPECT_EQ(config.model, kModel);
  EXPECT_EQ(config.ranks.count, 4);
  EXPECT_EQ(config.training.batch, 24);
  EXPECT_EQ(config.plan.options.micro_batches, 2);
  EXPECT_EQ(config.plan.given->cuts->lines.size(), plan_file_of(job).cuts->lines.size());
}

TEST(Planner, ExplainsAnOpOfWhatItFound) {
  const PlannedJob job = price({.model = kModel, .batch = 24}, parse_configuration("tensor=4"));
  const OpExplanation explanation = explain_op(job, "net/h/1/mlp/fc/matmul");
  EXPECT_EQ(explanation.name, "net/h/1/mlp/fc/matmul");
  ASSERT_FALSE(explanation.alternatives.empty());
  EXPECT_NE(print(explanation).find("the plan's"), std::string::npos);
  const PlannedJob one = price({.model = kModel, .batch = 24}, Configuration{});
  EXPECT_NE(print(explain_op(one, "net/h/1/mlp/fc/matmul")).find("one rank runs everything\n"), std::string::npos);
}

TEST(Planner, SaysWhatWouldFit) {
  const PlannedJob job = plan({.model = kModel, .cluster = "v100", .batch = 24, .memory = 1e5});
  EXPECT_FALSE(job.fits);
  EXPECT_EQ(job.memory, 1e5);
  const std::vector<Remedy> all = remedies(job);
  ASSERT_FALSE(all.empty());
  EXPECT_TRUE(std::ranges::is_sorted(all, [](const Remedy& a, const Remedy& b) { return a.factor < b.factor; }));
  expect_refused([&] { require_fit(job); }, "[plan] nothing fits; at best ");
}

TEST(Planner, RefusesRequests) {
  const auto refused = [](const PlanRequest& request, const std::string& message) {
    expect_refused([&] { plan(request); }, message);
  };
  refused({.model = kModel, .ranks = -1}, "[plan] bad ranks, got -1, expected 1 to the ");
  refused({.model = kModel, .batch = -1}, "[plan] bad batch, got -1, expected rows above 0, or 0 for the ");
  for (const double memory : {-1.0, 1e300, std::numeric_limits<double>::infinity()})
    refused(
        {.model = kModel, .memory = memory},
        fmt::format("[plan] bad memory, got {}, expected bytes above 0, at most 1.07374e+18, or 0 for the ", memory));
  refused({.model = kModel, .cluster = "v100", .ranks = 16, .where = "here"},
          "[here] more ranks than the cluster has, got 16, expected at most 8 of v100");
  expect_refused([] { price({.model = kModel, .batch = 24, .where = "here"}, {.data = 5}); },
                 "[here] the batch does not divide, got 24 rows for data=5");
}

}  // namespace
}  // namespace partita
