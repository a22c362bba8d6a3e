#include "planning/search_configurations.h"

#include <gtest/gtest.h>

#include "planning/deal_layers.h"
#include "planning/test_pricing.h"

namespace partita {
namespace {

constexpr const char* kGpt = "gpt:layers=8,hidden=1024,heads=8,seq=256,vocab=4096";
constexpr int64_t kBatch = 24;

Graph forward_of(const std::string& model, int64_t batch = kBatch) { return forward_of_model(model, batch); }

TEST(SearchConfigurations, IsNeverWorseThanAGrid) {
  for (const char* cluster : {"v100", "a100-80", "h100:2", "cpu"}) {
    for (const int64_t ranks : {1, 2, 3, 4, 6, 8}) {
      const Priced priced(forward_of(kGpt), cluster, ranks);
      for (const double memory : {8e9, 0.8e9, 0.4e9}) {
        SCOPED_TRACE(fmt::format("{} ranks of {}, {} bytes", ranks, cluster, memory));
        const ConfigurationSearch search = priced.search(memory);
        const double best = best_of_grid(priced, memory);
        ASSERT_EQ(search.best.has_value(), std::isfinite(best));
        if (!search.best) continue;
        EXPECT_LE(search.best->price.step_seconds, best * (1 + 1e-9));
        EXPECT_LE(search.best->price.peak_memory(), memory);
        EXPECT_LE(search.lower_bound_seconds, best * (1 + 1e-9));
      }
    }
  }
}

TEST(SearchConfigurations, IsNoSlowerWithMore) {
  const Priced eight(forward_of(kGpt), "a100-80");
  double before = 1e30;
  for (const double memory : {0.5e9, 0.7e9, 1e9, 2e9, 8e9}) {
    const ConfigurationSearch search = eight.search(memory);
    if (!search.best) continue;
    EXPECT_LE(search.best->price.step_seconds, before * (1 + 1e-9)) << memory;
    before = search.best->price.step_seconds;
  }
  before = 1e30;
  for (const int64_t ranks : {1, 2, 3, 4, 6, 8}) {
    const double seconds = Priced(forward_of(kGpt), "a100-80", ranks).search().best->price.step_seconds;
    EXPECT_LE(seconds, before * 1.01) << ranks;
    before = seconds;
  }
}

TEST(SearchConfigurations, LeavesRanksIdleWhereThatIsFaster) {
  // Sums of gradients over Ethernet take longer than what they save.
  Cluster cluster = cluster_named("v100:4");
  cluster.levels.back().bandwidth = 1e8;
  const Priced priced(forward_of("mlp:hidden=512", 48), cluster);
  const PricedConfiguration found = *priced.search(0, parse_pins("tensor=1,pipeline=1")).best;
  EXPECT_LT(found.configuration.ranks(), 24);
  const Pins all = parse_pins("data=24,tensor=1,pipeline=1");
  EXPECT_LT(found.price.step_seconds, priced.search(0, all).best->price.step_seconds);
}

TEST(SearchConfigurations, CutsOtherNetworksThanTransformers) {
  // Wide products of few rows: their parameters are better kept in parts than reduced.
  const Priced priced(forward_of("mlp:hidden=8192,layers=4", 64), "a100-80");
  const PricedConfiguration found = *priced.search().best;
  EXPECT_EQ(found.configuration.cuts, TensorCuts::searched);
  EXPECT_LT(found.price.step_seconds, 0.8 * priced.search(0, parse_pins("tensor=1")).best->price.step_seconds);
  // Among what is searched is that all cut the batch: as much is computed as under data parallelism where that is best.
  const Priced convolutions(forward_of("resnet18:size=32", 256), "a100-80");
  const double data = convolutions.price("data=8").breakdown.compute;
  EXPECT_LT(convolutions.price("tensor=8,cuts=searched").breakdown.compute, 1.05 * data);
}

TEST(SearchConfigurations, TakesTheSimplerOfTwoThatTakeAsLong) {
  // The longer backward of a recomputation hides more of the reductions.
  const Priced priced(forward_of("resnet50:size=32", 8192), "v100:128");
  const Configuration found = priced.search().best->configuration;
  EXPECT_EQ(found.recompute, Recompute::none);
  EXPECT_EQ(found.zero, 0);
}

TEST(SearchConfigurations, KeepsPins) {
  const Priced priced(forward_of(kGpt), "a100-80");
  const Configuration found =
      priced.search(0, parse_pins("tensor=2,pipeline=2,recompute=full,zero=2")).best->configuration;
  EXPECT_EQ(found.tensor, 2);
  EXPECT_EQ(found.pipeline, 2);
  EXPECT_EQ(found.recompute, Recompute::full);
  EXPECT_EQ(found.zero, 2);
  EXPECT_THROW(priced.search(0, parse_pins("data=7")), InvalidArgument);
  EXPECT_THROW(priced.search(0, parse_pins("tensor=16")), InvalidArgument);
}

TEST(SearchConfigurations, SaysWhatTakesTheLeastWhenNothingFits) {
  const ConfigurationSearch search = Priced(forward_of(kGpt), "a100-80").search(1e6);
  EXPECT_FALSE(search.best.has_value());
  ASSERT_TRUE(search.least.has_value());
  EXPECT_GT(search.least->price.peak_memory(), 1e6);
}

constexpr const char* kConfigurations[] = {
    "data=8,micro_batch=1",
    "data=4,tensor=2,micro_batch=3,zero=1",
    "data=2,tensor=4,micro_batch=2,sequence_parallel=true,recompute=selective",
    "data=2,pipeline=4,micro_batch=1,recompute=full,zero=1",
    "tensor=2,pipeline=4,micro_batch=1,interleave=2,sequence_parallel=true",
    "data=2,tensor=2,pipeline=2,micro_batch=4,order=zero_bubble",
};

TEST(NetworkCosts, FoldingChangesNoPrice) {
  for (const char* model : {kGpt, "llama:layers=9", "mlp:layers=12,hidden=64", "resnet50:size=32"}) {
    const Priced folded(forward_of(model), "a100-80");
    const auto whole = folded.make(/*fold=*/false);
    EXPECT_LT(folded.costs->folded().graph.nodes.size(), folded.graph.nodes.size());
    for (const std::string text : kConfigurations) {
      SCOPED_TRACE(fmt::format("{} {}", model, text));
      const Configuration configuration = parse_configuration(text);
      const bool has_blocks = std::string(model).starts_with("gpt") || std::string(model).starts_with("llama");
      if (!has_blocks && (configuration.tensor > 1 || configuration.pipeline > 1)) continue;
      if (!has_blocks && configuration.recompute != Recompute::none) continue;
      if (configuration.pipeline > 1 && folded.costs->layers() % configuration.pipeline != 2) continue;
      const Price one = folded.costs->price(configuration), other = whole->price(configuration);
      EXPECT_NEAR(one.step_seconds, other.step_seconds, 1e-6 * other.step_seconds);
      EXPECT_NEAR(one.tflops_per_device, other.tflops_per_device, 1e-6 * other.tflops_per_device);
      EXPECT_NEAR(one.peak_memory(), other.peak_memory(), 1e-6 * other.peak_memory());
    }
  }
}

TEST(NetworkCosts, DependOnNoNames) {
  const Priced priced(forward_of(kGpt), "a100-80");
  Graph other = forward_of(kGpt);
  for (size_t n = 0; n < other.nodes.size(); ++n) other.nodes[n].name = fmt::format("n{}", n * 7919 % 10007);
  for (size_t v = 0; v < other.values.size(); ++v) other.values[v].name = fmt::format("v{}", v * 7919 % 10007);
  const Priced renamed(other, "a100-80");
  for (const std::string text : kConfigurations) {
    if (text.find("recompute=full") != std::string::npos) continue;  // blocks are those of numbered scopes
    EXPECT_EQ(priced.price(text).step_seconds, renamed.price(text).step_seconds) << text;
    EXPECT_EQ(priced.price(text).peak_memory(), renamed.price(text).peak_memory()) << text;
  }
}

TEST(NetworkCosts, PartsAddUpToTheStep) {
  const Priced priced(forward_of(kGpt), "h100");
  for (const std::string text : kConfigurations) {
    const Price price = priced.price(text);
    const Breakdown& parts = price.breakdown;
    double sum = parts.compute + parts.waiting + parts.bubble + parts.update;
    for (const auto& [kind, seconds] : price.breakdown.communication) sum += seconds;
    EXPECT_NEAR(sum, price.step_seconds, 1e-9 * price.step_seconds) << text;
    EXPECT_EQ(price.memory.size(), static_cast<size_t>(parse_configuration(text).pipeline));
  }
}

std::vector<size_t> dealt(const std::vector<double>& seconds, int64_t stages, size_t repeated_from = 0,
                          size_t repeated_to = 0) {
  std::vector<DealtLayer> layers;
  for (size_t i = 0; i < seconds.size(); ++i) layers.push_back({i, seconds[i], i >= repeated_from && i < repeated_to});
  return deal_layers(layers, stages);
}

TEST(DealLayers, BalancesTheSlowestStage) {
  using Begins = std::vector<size_t>;
  EXPECT_EQ(dealt({1, 1, 1, 1}, 2), (Begins{0, 2, 4}));
  EXPECT_EQ(dealt({5, 1, 1, 1}, 2), (Begins{0, 1, 4}));
  EXPECT_EQ(dealt({1, 1, 1, 9}, 3), (Begins{0, 2, 3, 4}));
  EXPECT_EQ(dealt({1, 2}, 2), (Begins{0, 1, 2}));
  EXPECT_EQ(dealt({9, 1, 1, 1, 1, 9}, 2, 1, 5), (Begins{0, 3, 6}));  // copies evenly, the rest at the ends
  EXPECT_THROW(dealt({1, 2}, 3), InvalidArgument);
}

}  // namespace
}  // namespace partita
