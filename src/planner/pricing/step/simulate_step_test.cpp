#include "planner/pricing/step/simulate_step.h"

#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "ir/orders/simulate.h"
#include "planner/pricing/search/test_pricing.h"
#include "planner/simulation/simulate_program.h"
#include "runtime/device/device.h"

namespace partita {
namespace {

/// A GPT on a cluster.
struct SimulatedNetwork : Priced {
  explicit SimulatedNetwork(Cluster given)
      : Priced(forward_of_model("gpt:layers=8,hidden=1024,heads=8,seq=256,vocab=4096", 32), std::move(given)) {}
  Configuration configuration(const std::string& text) const {
    const Configuration given = parse_configuration(text);
    return completed(given, given.ranks(), 32);
  }
  LayerStep step(const std::string& text) const {
    const Configuration whole = configuration(text);
    return simulate_step(costs->stages(whole), whole.zero, {.spans = true, .memory = true});
  }
};

constexpr const char* kSimulatedSteps[] = {
    "data=1,micro_batch=4",
    "data=8",
    "data=8,zero=1",
    "data=8,zero=2,micro_batch=1",
    "data=8,zero=3,micro_batch=1",
    "data=4,tensor=2,zero=3",
    "data=2,tensor=4",
    "pipeline=4,micro_batch=1",
    "data=2,pipeline=4,micro_batch=1,zero=2",
    "data=2,pipeline=2,tensor=2,interleave=2,micro_batch=1,order=interleaved",
    "pipeline=4,micro_batch=1,order=zero_bubble",
    "data=4,pipeline=2,micro_batch=1,order=gpipe,zero=3",
};

/// The cluster with links that take no time and without overheads of communication.
Cluster without_links(Cluster cluster) {
  for (LinkLevel& level : cluster.levels) {
    level.bandwidth = 1e18;
    level.total_bandwidth = 0;
    for (double& latency : level.latency) latency = 0;
    for (double& latency : level.tree_latency) latency = 0;
    level.copy_bandwidth = 0;
  }
  for (LinkProtocol& protocol : cluster.protocols) protocol.overhead = protocol.max_bandwidth = 0;
  cluster.software.rank_skew = cluster.software.transfer_overhead = 0;
  return cluster;
}

// The step then consists of its slots and the update of the first group, or of a slower one.
TEST(SimulateStep, WithoutLinksItIsTheOrderAlone) {
  const SimulatedNetwork network(without_links(cluster_named("a100-80")));
  for (const std::string text : kSimulatedSteps) {
    const Configuration configuration = network.configuration(text);
    StagePrices& stages = network.costs->stages(configuration);
    const LayerStep step = network.step(text);
    const double slots =
        stages.shape().stages() == 1
            ? stages.shape().micro_batches *
                  (stages.shape().times[0].forward + stages.shape().times[0].backward + stages.shape().times[0].weight)
            : simulate(stages.sequence(), stages.shape(), chain_of(stages.shape().stages())).seconds;
    const double rest = step.seconds - slots - step.repeated - network.cluster.software.step_overhead;
    EXPECT_GE(rest, -1e-9 * slots) << text;
    EXPECT_LE(rest, 1.001 * step.groups[0].update + 1e-3 * slots) << text;
  }
}

// So configurations that a search leaves out are slower than the one it finds.
TEST(SimulateStep, TakesNoLessThanItsBound) {
  for (const char* name : {"a100-80", "h100", "v100", "cpu", "a100-80@partita"}) {
    for (const double slower : {1.0, 30.0}) {
      Cluster cluster = open_cluster(name);
      for (LinkLevel& level : cluster.levels) level.bandwidth /= slower;
      const SimulatedNetwork network(resized(cluster, 8));
      for (const std::string text : kSimulatedSteps) {
        const Configuration configuration = network.configuration(text);
        StagePrices& stages = network.costs->stages(configuration);
        const double bound = stages.lower_bound(configuration.zero), seconds = network.step(text).seconds;
        EXPECT_LE(bound, seconds * (1 + 1e-9)) << name << " " << text;
        EXPECT_GE(bound, 0.6 * seconds) << name << " " << text;
      }
    }
  }
}

struct ComparedStep {
  const char* model;
  std::vector<std::string> configurations;
  double least;  // share of the program's step
};
const ComparedStep kComparedSteps[] = {
    {"gpt:layers=8,hidden=1024,heads=16,seq=512,vocab=8000",
     {"data=4", "data=4,zero=3", "data=4,micro_batch=1,zero=1", "pipeline=4,micro_batch=2",
      "data=2,pipeline=2,micro_batch=2,zero=1"},
     0.6},
    // Large parameters, whose messages take longer than it takes to begin them.
    {"gpt:layers=4,hidden=4096,heads=32,seq=512,vocab=8000",
     {"data=4,zero=2", "data=4,zero=3", "data=4,micro_batch=2,zero=2", "data=4,micro_batch=1,zero=2"},
     0.85},
    // A program gathers one parameter ahead, a configuration one layer.
    {"gpt:layers=4,hidden=4096,heads=32,seq=512,vocab=8000",
     {"data=4,micro_batch=2,zero=3", "data=4,micro_batch=1,zero=3", "data=2,pipeline=2,micro_batch=2,zero=3"},
     0.75},
};

void expect_near_the_program(const ComparedStep& compared, const Cluster& cluster) {
  const ZooModel zoo = make_model(compared.model);
  const Graph forward = build_graph(zoo.network(zoo.recipe.training.loss), all_ops(),
                                    {.batch = 16, .columns = zoo.columns(), .statistics_groups = 1});
  const auto device = make_cpu_device(all_ops(), 1);
  const TrainingOptions training{.optimizer = zoo.recipe.optimizer};
  NetworkCosts costs(forward, all_ops(), cluster, {.training = training});
  for (const std::string& text : compared.configurations) {
    const Configuration given = parse_configuration(text);
    const Configuration configuration = completed(given, given.ranks(), 16);
    CompileOptions options{.ranks = configuration.ranks(), .training = training};
    options.plan.micro_batches = micro_batches(configuration, 16);
    options.plan.zero.level = configuration.zero;
    options.plan.pipeline.stages = configuration.pipeline;
    options.plan.pipeline.order = configuration.order;
    const Program program = compile(forward, all_ops(), device->catalog(), options);
    const double simulated = simulate_program(program.pipeline, program.stages,
                                              prices_of(program.pipeline, program.stages, all_ops(), cluster))
                                 .seconds;
    const double priced = costs.price(configuration).step_seconds;
    EXPECT_GT(priced / simulated, compared.least) << compared.model << " on " << cluster.name << ": " << text;
    EXPECT_LT(priced / simulated, 1.05) << compared.model << " on " << cluster.name << ": " << text;
  }
}

// Compares the layers of a configuration with the instructions of its program on the same engine. The program has more
// kernels: the loss, scalars, counters and copies, each with a launch.
TEST(SimulateStep, IsNearTheStepOfTheProgram) {
  for (const ComparedStep& compared : kComparedSteps) {
    for (const char* name : {"a100-80@partita", "h100@partita"})
      expect_near_the_program(compared, resized(open_cluster(name), 4));
  }
}

TEST(SimulateStep, CountsActivationsOfASingleMicroBatchOnce) {
  const SimulatedNetwork network(open_cluster("a100-80@partita"));
  for (const std::string text : {"data=8", "data=8,zero=3", "data=4,tensor=2,zero=1"}) {
    const LayerStep step = network.step(text);
    double most = 0;
    for (const MemoryPoint& point : step.groups.at(0).memory) most = std::max(most, point.bytes);
    const double priced = network.costs->price(network.configuration(text)).memory.at(0).total();
    EXPECT_NEAR(most / priced, 1, 1e-9) << text;
  }
}

TEST(SimulateStep, PartsAddUpAndLieWithinTheStep) {
  for (const char* cluster : {"a100-80", "h100", "v100"}) {
    const SimulatedNetwork network(cluster_named(cluster));
    for (const std::string text : kSimulatedSteps) {
      const LayerStep step = network.step(text);
      const Price price = network.costs->price(network.configuration(text));
      EXPECT_EQ(step.seconds, price.step_seconds) << cluster << " " << text;
      ASSERT_EQ(step.groups.size(), price.memory.size());
      for (size_t g = 0; g < step.groups.size(); ++g) {
        const LayerStepGroup& group = step.groups[g];
        double sum =
            group.compute + group.waiting + group.update + group.bubble + network.cluster.software.step_overhead;
        for (const auto& [kind, seconds] : group.exposed) sum += seconds;
        EXPECT_NEAR(sum, step.seconds, 1e-9 + 1e-6 * step.seconds) << cluster << " " << text;
        EXPECT_GT(group.spans.size(), 10U);
        for (const LayerSpan& span : group.spans) {
          EXPECT_LE(span.begin, span.end);
          EXPECT_LE(span.end, step.seconds);
        }
        double most = 0;
        for (const MemoryPoint& point : group.memory) most = std::max(most, point.bytes);
        EXPECT_NEAR(most / price.memory[g].total(), 1, 0.1) << cluster << " " << text << " group " << g;
      }
    }
  }
}

// Slower links never make a step shorter, nor does a slowdown of overlapped computation.
TEST(SimulateStep, GrowsWithSlowerLinks) {
  for (const std::string text : kSimulatedSteps) {
    double before = 0;
    for (const double slower : {1.0, 2.0, 4.0, 16.0}) {
      Cluster cluster = cluster_named("a100-80");
      for (LinkLevel& level : cluster.levels) level.bandwidth /= slower;
      const double seconds = SimulatedNetwork(cluster).step(text).seconds;
      EXPECT_GE(seconds, before * 0.999) << text << " " << slower;
      before = seconds;
    }
    Cluster cluster = cluster_named("a100-80");
    cluster.software.overlap_slowdown = 1;
    const double free = SimulatedNetwork(cluster).step(text).seconds;
    cluster.software.overlap_slowdown = 2;
    EXPECT_GE(SimulatedNetwork(cluster).step(text).seconds, free) << text;
  }
}

// Micro-batches that are not simulated communicate like the others: four times as many take about four times as long.
TEST(SimulateStep, RepeatedMicroBatchesCommunicate) {
  Cluster cluster = cluster_named("a100-80");
  for (LinkLevel& level : cluster.levels) level.bandwidth /= 100;
  const SimulatedNetwork network(cluster);
  for (const std::string zero : {"2", "3"}) {
    const double four = network.step("data=2,micro_batch=4,zero=" + zero).seconds,
                 sixteen = network.step("data=2,micro_batch=1,zero=" + zero).seconds;
    EXPECT_GT(sixteen / four, 3.2) << zero;  // computation stays the same
    EXPECT_LT(sixteen / four, 4.2) << zero;
  }
}

// Transfers of micro-batches that are not simulated overlap like those of the others: 128 micro-batches take at most
// eight times as long as 16, which fill and drain the stages eight times.
TEST(SimulateStep, RepeatedMicroBatchesHideTheirTransfers) {
  Cluster cluster = open_cluster("a100-80@partita");
  for (LinkLevel& level : cluster.levels) level.bandwidth /= 30;
  const auto seconds_of = [&](int64_t batch) {
    const Priced priced(forward_of_model("gpt:layers=8,hidden=1024,heads=8,seq=256,vocab=4096", batch), cluster);
    return priced.price("pipeline=4,micro_batch=1").step_seconds;
  };
  EXPECT_LE(seconds_of(128), 8 * seconds_of(16));
}

// Reductions overlap with the backward pass, except for those of the first layers.
TEST(SimulateStep, ReductionsOverlapTheBackward) {
  const SimulatedNetwork network(cluster_named("h100"));
  const LayerStep step = network.step("data=8");
  const LayerStepGroup& group = step.groups.front();
  double reductions = 0, end_of_backward = 0, first = step.seconds;
  for (const LayerSpan& span : group.spans) {
    if (span.kind == LayerSpan::reduce) reductions += span.end - span.begin, first = std::min(first, span.begin);
    if (span.kind == LayerSpan::backward) end_of_backward = std::max(end_of_backward, span.end);
  }
  EXPECT_LT(first, end_of_backward);
  ASSERT_TRUE(group.exposed.contains(Collective::all_reduce));
  EXPECT_GT(group.exposed.at(Collective::all_reduce), 0);
  EXPECT_LT(group.exposed.at(Collective::all_reduce), 0.7 * reductions);
}

}  // namespace
}  // namespace partita
