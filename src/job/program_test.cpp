#include "job/program.h"

#include <gtest/gtest.h>

#include "frontend/network/layers/layers.h"
#include "runtime/launch/place.h"

namespace partita {
namespace {

/// Counts how often its layers are built.
struct CountedNetwork {
  explicit CountedNetwork(bool has_stages = false) {
    const LayerPtr last = dense(3);
    if (has_stages) last->pipeline_stage(1);
    const Network whole("net", sequential({dense(4), batch_norm(), last}));
    network.emplace(
        "net",
        [this, forward = whole.forward()](Context& context, Columns& columns) {
          ++built;
          return forward(context, columns);
        },
        whole.loss());
  }
  CountedNetwork(const CountedNetwork&) = delete;  // its network refers to it

  /// Returns how often making a program builds the network.
  int builds(JobConfig config, int ranks, Purpose purpose = Purpose::training) {
    built = 0;
    config.training.batch = 12;
    config.ranks.count = ranks;
    make_program(completed(std::move(config), Place{.cores = 1}),
                 {.network = *network,
                  .columns = {{"x", {DType::f32, {2}}}, {"label", {DType::i32, {}}}},
                  .batch = 12,
                  .ranks = ranks,
                  .purpose = purpose});
    return built;
  }

  int built = 0;
  std::optional<Network> network;
};

// Networks of users may take long to build.
TEST(MakeProgram, BuildsEachGraphOnce) {
  CountedNetwork one;
  JobConfig config;
  for (const int ranks : {1, 2, 3}) EXPECT_EQ(one.builds(config, ranks), 1) << ranks;
  EXPECT_EQ(one.builds(config, 2, Purpose::evaluation), 1);
  EXPECT_EQ(one.builds(config, 2, Purpose::prediction), 1);
  config.plan.options.micro_batches = 2;
  EXPECT_EQ(one.builds(config, 2), 1);
  config.plan.options.pipeline.stages = 2;
  EXPECT_EQ(one.builds(config, 2), 1);
  EXPECT_EQ(one.builds(config, 2, Purpose::evaluation), 2) << "stages are those of the training";
}

TEST(MakeProgram, BuildsAgainForTheStatisticsOfStages) {
  CountedNetwork two(/*has_stages=*/true);
  JobConfig config;
  EXPECT_EQ(two.builds(config, 2), 2) << "without stages there are two groups of statistics";
  EXPECT_EQ(two.builds(config, 8), 3) << "8 groups do not divide 12 rows, as those of two stages do";
  config.training.batch_norm = BatchNormStatistics::global;
  EXPECT_EQ(two.builds(config, 2), 1);
}

TEST(MakeProgram, ComparesTheNetworkOfAPlanWithTheGraphThatRuns) {
  CountedNetwork one;
  JobConfig config;
  config.training.batch_norm = BatchNormStatistics::global;
  config.plan.given = GivenPlan{.file = "net.plan", .line = 3, .network = NetworkFingerprint{.nodes = 1}};
  try {
    one.builds(config, 2);
    ADD_FAILURE() << "a plan for another network was taken";
  } catch (const InvalidArgument& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with("[net.plan:3] the plan is for another network, got "))
        << error.what();
  }
  EXPECT_EQ(one.built, 1);
}

}  // namespace
}  // namespace partita
