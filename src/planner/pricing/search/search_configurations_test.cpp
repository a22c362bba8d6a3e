#include "planner/pricing/search/search_configurations.h"

#include <gtest/gtest.h>

#include <random>

#include "planner/pricing/layers/assign_layers.h"
#include "planner/pricing/search/searched_space.h"
#include "planner/pricing/search/test_pricing.h"

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

TEST(SearchConfigurations, RanksThatShareCoresAreNoSlowerForIdleOnes) {
  Cluster four_cores = cluster_named("cpu");
  four_cores.cores = 4;
  const Priced eight(forward_of(kGpt), resized(four_cores, 8));
  for (const char* text :
       {"data=2", "data=4,zero=1", "tensor=2,data=3", "pipeline=4", "tensor=4,sequence_parallel=true"}) {
    const int64_t ranks = parse_configuration(text).ranks();
    const Priced alone(forward_of(kGpt), resized(four_cores, ranks));
    EXPECT_DOUBLE_EQ(eight.price(text).step_seconds, alone.price(text).step_seconds) << text;
  }
  double before = 1e30;
  for (const int64_t ranks : {1, 2, 3, 4, 6, 8}) {
    const double seconds = Priced(forward_of(kGpt), resized(four_cores, ranks)).search().best->price.step_seconds;
    EXPECT_LE(seconds, before * (1 + 1e-9)) << ranks;
    before = seconds;
  }
}

TEST(SearchConfigurations, LeavesRanksIdleWhereThatIsFaster) {
  // Gradient sums over Ethernet take longer than more ranks save.
  Cluster cluster = cluster_named("v100:4");
  cluster.levels.back().bandwidth = 1e8;
  const Priced priced(forward_of("mlp:hidden=512", 48), cluster);
  const PricedConfiguration found = *priced.search(0, parse_pins("tensor=1,pipeline=1")).best;
  EXPECT_LT(found.configuration.ranks(), 24);
  const Pins all = parse_pins("data=24,tensor=1,pipeline=1");
  EXPECT_LT(found.price.step_seconds, priced.search(0, all).best->price.step_seconds);
}

TEST(SearchConfigurations, CutsOtherNetworksThanTransformers) {
  // With wide products of few rows, sharding parameters is faster than reducing their gradients.
  const Priced priced(forward_of("mlp:hidden=8192,layers=4", 64), "a100-80");
  const PricedConfiguration found = *priced.search().best;
  EXPECT_EQ(found.configuration.cuts, TensorCuts::searched);
  EXPECT_LT(found.price.step_seconds, 0.8 * priced.search(0, parse_pins("tensor=1")).best->price.step_seconds);
  // Searched cuts include cutting the batch. If that is best, each rank computes as much as under data parallelism.
  const Priced convolutions(forward_of("resnet18:size=32", 256), "a100-80");
  const double data = convolutions.price("data=8").breakdown.compute;
  EXPECT_LT(convolutions.price("tensor=8,cuts=searched").breakdown.compute, 1.05 * data);
}

TEST(SearchConfigurations, RecomputesNothingWhereAllFits) {
  const Priced priced(forward_of("resnet50:size=32", 8192), "v100:128");
  EXPECT_TRUE(priced.search().best->configuration.recompute == Recompute::none);
}

TEST(SearchConfigurations, TakesWholeBatchesOfSmallNetworks) {
  for (const char* model : {"recommender", "mlp:hidden=64", "resnet18:size=32"}) {
    const Priced priced(forward_of(model, 4096), "a100-80");
    const double found = priced.search().best->price.step_seconds;
    for (const char* text : {"data=1", "data=8", "data=8,zero=1", "data=2,micro_batch=512"})
      EXPECT_LE(found, priced.price(text).step_seconds * (1 + 1e-9)) << model << " " << text;
  }
}

TEST(SearchConfigurations, TriesOrdersThatDelayGradientsOfWeights) {
  const Priced priced(forward_of("gpt:layers=16,hidden=2048,heads=16,seq=1024,vocab=4096", 16), "v100:2");
  Pins pins = parse_pins("pipeline=8,interleave=1,micro_batch=1");
  const PricedConfiguration found = *priced.search(0, pins).best;
  EXPECT_EQ(found.configuration.order, Order::zero_bubble);
  pins.order = Order::one_forward_one_backward;
  EXPECT_LT(found.price.step_seconds, priced.search(0, pins).best->price.step_seconds);
}

TEST(SearchConfigurations, MoreNodesAreNoSlower) {
  double before = 1e30;
  for (const int64_t nodes : {2, 3, 4, 5, 6, 7}) {
    const Priced priced(forward_of("gpt:layers=24,hidden=2048,heads=16,seq=512,vocab=4096", 96),
                        fmt::format("a100-80:{}", nodes));
    const double seconds = priced.search().best->price.step_seconds;
    EXPECT_LE(seconds, before * 1.01) << nodes;
    before = seconds;
  }
}

TEST(SearchConfigurations, KeepsPins) {
  const Priced priced(forward_of(kGpt), "a100-80");
  const Configuration found =
      priced.search(0, parse_pins("tensor=2,pipeline=2,recompute=full,zero=2")).best->configuration;
  EXPECT_EQ(found.tensor, 2);
  EXPECT_EQ(found.pipeline, 2);
  EXPECT_EQ(found.recompute, RecomputedLayers(Recompute::full));
  EXPECT_EQ(found.zero, 2);
  EXPECT_THROW(priced.search(0, parse_pins("data=7")), InvalidArgument);
  EXPECT_THROW(priced.search(0, parse_pins("tensor=16")), InvalidArgument);
}

TEST(SearchConfigurations, KeepsPinsOfLayerSplitsAndOrders) {
  const Priced priced(forward_of(kGpt), "a100-80");
  const auto found = [&](const std::string& pins) {
    return priced.search(0, parse_pins("data=1,tensor=1,pipeline=4,micro_batch=2," + pins)).best->configuration;
  };
  EXPECT_EQ(found("deal=balanced").layer_split, LayerSplit::balanced);
  EXPECT_EQ(found("deal=even").layer_split, LayerSplit::even);
  for (const Order order : {Order::gpipe, Order::one_forward_one_backward, Order::zero_bubble}) {
    const Configuration pinned = found(fmt::format("order={}", name_of(order)));
    EXPECT_EQ(pinned.order, order);
    EXPECT_EQ(pinned.interleave, 1);
  }
  EXPECT_EQ(found("interleave=2,order=zero_bubble").order, Order::zero_bubble);
  EXPECT_EQ(found("interleave=2").order, Order::interleaved);
}

// With 32 layers on four groups, 2 and 4 stages per group would divide the layers.
TEST(SearchConfigurations, TriesStagesThatDoNotDivideTheLayers) {
  const Priced priced(forward_of("gpt:6.7b", 48), "a100-80:12");
  const std::string pins = "data=12,tensor=2,pipeline=4,micro_batch=1,cuts=blocks";
  const PricedConfiguration found = *priced.search(0, parse_pins(pins)).best;
  EXPECT_NE(32 % (4 * found.configuration.interleave), 0) << print(found.configuration);
  EXPECT_LT(found.price.step_seconds,
            0.99 * priced.search(0, parse_pins(pins + ",interleave=4")).best->price.step_seconds);
}

/// The cluster with another number of ranks in its innermost level.
Cluster with_level_of(const std::string& name, int64_t ranks) {
  Cluster cluster = cluster_named(name);
  cluster.levels[0].size = ranks;
  verify(cluster);
  return cluster;
}

// 32 groups of 7 ranks: three groups of stages are neither a divisor nor a power of two.
TEST(SearchConfigurations, TriesEveryNumberOfGroupsOfStages) {
  const Priced priced(forward_of("mlp:layers=5,hidden=3001", 256), with_level_of("v6e:32", 7));
  const ConfigurationSearch found = priced.search();
  for (const char* pins : {"pipeline=1", "pipeline=2", "pipeline=3", "pipeline=4", "pipeline=5", "tensor=7,pipeline=3"})
    EXPECT_LE(found.lower_bound_seconds, priced.search(0, parse_pins(pins)).best->price.step_seconds) << pins;
}

// Five ranks that divide the rows of a micro-batch: 8 is the smallest divisor of 2,048 with a row for each.
TEST(SearchConfigurations, TriesMicroBatchesOfFewerRowsThanRanks) {
  const Priced priced(
      forward_of("llama:layers=4,hidden=256,heads=4,kv_heads=2,intermediate=512,seq=64,vocab=1000", 2048),
      with_level_of("v5e:6", 5));
  const ConfigurationSearch found = priced.search();
  for (const char* text : {"data=2,tensor=3,cuts=searched,links=4,pipeline=2,micro_batch=2",
                           "tensor=5,cuts=searched,links=3,micro_batch=4",
                           "data=2,tensor=5,cuts=searched,links=3,pipeline=3,micro_batch=1,order=zero_bubble"}) {
    const ConfigurationSearch pinned = priced.search(0, parse_pins(text));
    ASSERT_TRUE(pinned.best) << text;
    EXPECT_LE(pinned.best->price.step_seconds, priced.price(text).step_seconds) << text;
    EXPECT_LE(found.lower_bound_seconds, pinned.best->price.step_seconds) << text;
  }
}

// Ranks that divide the rows of a micro-batch take as long as the one with the most of them.
TEST(NetworkCosts, CountTheLargestPartOfTheRows) {
  const Priced priced(forward_of("resnet18:size=32", 72), "a100-80@partita");
  const auto seconds = [&](int64_t rows) {
    const std::string text = fmt::format("tensor=8,cuts=searched,micro_batch={}", rows);
    const Configuration whole = completed(parse_configuration(text), 8, 72);
    return priced.costs->row_costs(whole).of(rows).all * static_cast<double>(rows);
  };
  EXPECT_GT(seconds(1) / seconds(8), 0.5);  // one rank has a row in both; other nodes are not cut by rows
  EXPECT_LT(seconds(1) / seconds(8), 1);
  EXPECT_GT(seconds(9) / seconds(8), 1.02);  // two rows of one rank
}

// A micro-batch passes all stages before some of its gradients of weights are made.
TEST(SearchConfigurations, BoundsOrdersThatDelayGradientsOfWeights) {
  const Priced priced(forward_of("vit:huge", 12), "h200:2");
  const SearchRequest request{.costs = *priced.costs, .ranks = 16, .memory_bytes = priced.cluster.device.memory};
  const SearchedSpace space(request);
  double least = std::numeric_limits<double>::infinity();
  for (const char* text : {"data=2,pipeline=6,micro_batch=6,order=zero_bubble,zero=3",
                           "data=2,pipeline=3,micro_batch=6,order=zero_bubble,zero=3",
                           "data=2,pipeline=7,micro_batch=6,order=zero_bubble,zero=3"}) {
    const Configuration configuration = parse_configuration(text);
    const double seconds = priced.price(text).step_seconds;
    EXPECT_TRUE(space.contains(configuration)) << text;
    EXPECT_LE(space.bound_of_sizes(configuration), seconds) << text;
    EXPECT_LE(space.bound_of_layers(configuration), seconds) << text;
    least = std::min(least, seconds);
  }
  const ConfigurationSearch found = priced.search(0, parse_pins("data=2,tensor=1"));
  EXPECT_LE(found.best->price.step_seconds, least);
  EXPECT_LE(found.lower_bound_seconds, least);
}

/// The searched space of a model on some ranks of a cluster.
struct SpaceOf {
  SpaceOf(const std::string& model, const std::string& cluster, int64_t ranks, const std::string& pins = "")
      : priced(forward_of(model, 24), cluster, ranks),
        request{.costs = *priced.costs, .ranks = ranks, .memory_bytes = 1e12, .pins = parse_pins(pins)} {}
  bool contains(const std::string& text) const { return space.contains(parse_configuration(text)); }
  Priced priced;
  SearchRequest request;
  SearchedSpace space{request};
};

TEST(SearchedSpace, IsWhatThePageSays) {
  const std::string gpt = "gpt:layers=32,hidden=64,heads=4,seq=16";
  const SpaceOf many(gpt, "a100-80:8", 40), few(gpt, "a100-80", 5);
  EXPECT_EQ(many.space.tensors(), (std::vector<int64_t>{1, 2, 4, 5, 8, 10, 16, 20, 32, 40}));
  EXPECT_EQ(few.space.tensors(), (std::vector<int64_t>{1, 2, 3, 4, 5}));
  EXPECT_EQ(few.space.pipelines({.tensor = 2}), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(many.space.data({.tensor = 2, .pipeline = 2}), (std::vector<int64_t>{1, 2, 3, 4, 6, 8}));
  EXPECT_EQ(many.space.interleaves({.pipeline = 4}), (std::vector<int64_t>{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(many.space.interleaves({.pipeline = 16}), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(many.space.micro_batches({.data = 4}), (std::vector<int64_t>{1, 2, 3, 6}));
  EXPECT_TRUE(many.contains("data=3,tensor=2,pipeline=4,interleave=3,micro_batch=1,order=interleaved,zero=1"));
  EXPECT_TRUE(many.contains("data=3,pipeline=4,deal=balanced,micro_batch=1,order=zero_bubble,recompute=full"));
  for (const char* text :
       {"data=3,pipeline=4,micro_batch=1,order=gpipe", "data=3,context=2,micro_batch=1",
        "data=1,pipeline=2,interleave=9,micro_batch=1,order=interleaved", "data=2,tensor=3,micro_batch=1",
        "data=3,pipeline=4,interleave=2,micro_batch=1,order=zero_bubble", "data=5,micro_batch=1"})
    EXPECT_FALSE(many.contains(text)) << text;
  EXPECT_TRUE(SpaceOf(gpt, "a100-80:8", 40, "context=2").contains("data=3,context=2,micro_batch=1"));
  EXPECT_TRUE(many.contains("data=3,pipeline=7,micro_batch=2"));
  EXPECT_TRUE(many.contains("data=3,tensor=5,cuts=searched,links=3,micro_batch=2"));
  EXPECT_EQ(many.space.text(/*squeezed=*/false),
            "data, tensor of divisors and powers of 2, cuts, links of 6 near classes, pipeline, sequence_parallel, "
            "interleave to 8, deal, micro_batch, order of 1f1b/interleaved/zero_bubble without interleave, "
            "recompute of none/what fits/selective/full, zero (context=1, squeeze=0)");
  EXPECT_EQ(few.space.text(/*squeezed=*/true),
            "data, tensor, cuts, squeeze to 4, links of 6 near classes and of 2 for squeezed cuts, pipeline, "
            "sequence_parallel, interleave to 8, deal, micro_batch, order of 1f1b/interleaved/zero_bubble without "
            "interleave, recompute of none/what fits/selective/full, zero (context=1)");
  EXPECT_EQ(SpaceOf(gpt, "a100-80:8", 40, "data=3,order=gpipe,cuts=blocks,recompute=full:2").space.text(false),
            "tensor of divisors and powers of 2, pipeline, sequence_parallel, deal, micro_batch, zero (data=3, "
            "context=1, cuts=blocks, "
            "interleave=1, order=gpipe, recompute=full:2)");
}

/// The shortest step that fits, among all counts of recomputed layers in each group of a pipeline of two.
double best_of_counts(const Priced& priced, Configuration configuration, int64_t layers, double memory) {
  std::vector<RecomputedLayers::Counts> all;
  for (int64_t full = 0; full <= layers; ++full) {
    for (int64_t selective = 0; full + selective <= layers; ++selective) all.push_back({full, selective});
  }
  double best = std::numeric_limits<double>::infinity();
  for (const RecomputedLayers::Counts& first : all) {
    for (const RecomputedLayers::Counts& second : all) {
      configuration.recompute = RecomputedLayers({first, second});
      const Price price = priced.costs->price(configuration);
      if (price.peak_memory() <= memory) best = std::min(best, price.step_seconds);
    }
  }
  return best;
}

TEST(SearchConfigurations, RecomputesAsFewLayersAsMustBe) {
  int faster = 0;
  for (const char* cluster : {"a100-80", "a100-80@partita", "h100", "cpu"}) {
    const Priced priced(forward_of(kGpt), cluster, 2);
    for (const std::string shape : {"pipeline=2,micro_batch=2", "pipeline=2,micro_batch=1,interleave=2"}) {
      const Configuration kept = completed(parse_configuration(shape), 2, kBatch);
      const auto memory_of = [&](Recompute policy) {
        Configuration configuration = kept;
        configuration.recompute = policy;
        return priced.costs->price(configuration).peak_memory();
      };
      const double most = memory_of(Recompute::none), least = memory_of(Recompute::full);
      ASSERT_LT(least, most);
      for (const double part : {0.1, 0.35, 0.6, 0.9}) {
        const double memory = least + part * (most - least);
        SCOPED_TRACE(fmt::format("{} {} with {} of {} bytes", cluster, shape, memory, most));
        const ConfigurationSearch search = priced.search(memory, parse_pins(shape + ",data=1,tensor=1"));
        ASSERT_TRUE(search.best);
        EXPECT_LE(search.best->price.peak_memory(), memory);
        double uniform = std::numeric_limits<double>::infinity();
        for (const Recompute policy : {Recompute::selective, Recompute::full}) {
          Configuration configuration = kept;
          configuration.recompute = policy;
          const Price price = priced.costs->price(configuration);
          if (price.peak_memory() <= memory) uniform = std::min(uniform, price.step_seconds);
        }
        EXPECT_LE(search.best->price.step_seconds, uniform);
        faster += search.best->price.step_seconds < 0.999 * uniform ? 1 : 0;
        const double all = best_of_counts(priced, kept, 4, memory);
        EXPECT_LE(search.best->price.step_seconds, all * (1 + 1e-9)) << print(search.best->configuration);
      }
    }
  }
  EXPECT_GT(faster, 24);  // of 32
}

// If everything fits, nothing is recomputed.
TEST(SearchConfigurations, EarlyStagesRecomputeMore) {
  const Priced priced(forward_of(kGpt), "a100-80", 4);
  const Pins pins = parse_pins("data=1,tensor=1,pipeline=4,interleave=1,micro_batch=2");
  EXPECT_EQ(priced.search(0, pins).best->configuration.recompute, RecomputedLayers());
  const double most = priced.search(0, pins).best->price.peak_memory();
  const RecomputedLayers found = priced.search(0.85 * most, pins).best->configuration.recompute;
  ASSERT_EQ(found.counts.size(), 4U) << print(found);
  EXPECT_GT(found.counts[0].full + found.counts[0].selective, 0);
  EXPECT_EQ(found.counts[3], RecomputedLayers::Counts{});
  EXPECT_EQ(parse_configuration(fmt::format("recompute={}", print(found))).recompute, found);
}

TEST(NetworkCosts, MixedRecomputationLiesBetweenTheUniform) {
  for (const char* model : {kGpt, "t5:layers=6,hidden=256,heads=4,seq=64,target=32", "resnet50:size=32"}) {
    for (const char* cluster : {"a100-80", "a100-80@partita", "cpu"}) {
      const Priced priced(forward_of(model), cluster, 1);
      const auto whole = priced.make(/*fold=*/false);
      for (const int64_t rows : {1, 24}) {
        const auto price = [&](NetworkCosts& costs, const std::string& recompute) {
          return costs.price(parse_configuration(fmt::format("micro_batch={},recompute={}", rows, recompute)));
        };
        const Price none = price(*priced.costs, "none"), full = price(*priced.costs, "full");
        Price before = none;
        for (const int64_t count : {1, 3, 6}) {
          SCOPED_TRACE(fmt::format("{} on {}, {} rows, {} layers", model, cluster, rows, count));
          const std::string text = fmt::format("full:{}", count);
          const Price mixed = price(*priced.costs, text), unfolded = price(*whole, text);
          EXPECT_GE(mixed.step_seconds, before.step_seconds * (1 - 1e-9));
          EXPECT_LE(mixed.step_seconds, full.step_seconds * (1 + 1e-9));
          EXPECT_GE(mixed.peak_memory(), full.peak_memory() * (1 - 1e-2));
          before = mixed;
          if (model != kGpt) continue;  // others have units of several blocks
          EXPECT_NEAR(mixed.step_seconds, unfolded.step_seconds, 1e-6 * mixed.step_seconds);
          EXPECT_NEAR(mixed.peak_memory(), unfolded.peak_memory(), 1e-6 * mixed.peak_memory());
        }
      }
      if (model == kGpt) {
        const Price all = priced.price("micro_batch=1,recompute=full:8"),
                    full = priced.price("micro_batch=1,recompute=full");
        EXPECT_NEAR(all.step_seconds, full.step_seconds, 1e-9 * full.step_seconds);
        EXPECT_NEAR(all.peak_memory(), full.peak_memory(), 0.01 * full.peak_memory());
      }
      EXPECT_THROW(priced.price("recompute=full:99"), InvalidArgument);
    }
  }
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
    "data=2,pipeline=4,micro_batch=1,recompute=full:2/1/0/1+selective:0/1/0/0",
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

TEST(NetworkCosts, OfMoreRowsThanMicroBatches) {
  for (const char* model : {"mlp:layers=3,hidden=64", "recommender"}) {
    const Priced few(forward_of(model, 1 << 12), "a100-80"), many(forward_of(model, 1 << 18), "a100-80");
    for (const std::string text : {"data=8,micro_batch=256", "tensor=8,cuts=searched,micro_batch=512"}) {
      SCOPED_TRACE(fmt::format("{} {}", model, text));
      const Configuration of_few = completed(parse_configuration(text), 8, 1 << 12);
      const Configuration of_many = completed(parse_configuration(text), 8, 1 << 18);
      const double seconds = few.costs->row_costs(of_few).of(of_few.micro_batch).all;
      // Cuts also depend on launch overheads, whose share differs with the rows.
      const double tolerance = of_few.cuts == TensorCuts::searched ? 0.05 : 1e-6;
      EXPECT_NEAR(many.costs->row_costs(of_many).of(of_many.micro_batch).all, seconds, tolerance * seconds);
      EXPECT_GT(many.price(text).step_seconds, 30 * few.price(text).step_seconds);
    }
    EXPECT_TRUE(many.search().best.has_value()) << model;
  }
  EXPECT_THROW(Priced(forward_of("mlp", 131101), "a100-80").search(), InvalidArgument);
}

TEST(NetworkCosts, TakeNoLessTimeThanTheirBounds) {
  for (const char* cluster : {"a100-80", "h100", "a100-80@partita"}) {
    const Priced priced(forward_of("gpt:layers=24,hidden=64,heads=4,seq=32", 48), cluster);
    for (const std::string sizes : {"pipeline=8", "data=2,pipeline=4", "tensor=2,pipeline=4"}) {
      for (const std::string order :
           {"", ",interleave=3", ",interleave=2,zero=1", ",order=zero_bubble", ",order=gpipe"}) {
        for (const int64_t rows : {1, 2, 6, 24}) {
          const std::string text = fmt::format("{}{},micro_batch={}", sizes, order, rows);
          const Configuration whole = completed(parse_configuration(text), 8, 48);
          const double bound = priced.costs->stages(whole).lower_bound(whole.zero),
                       step = priced.price(text).step_seconds;
          EXPECT_LE(bound, step * (1 + 1e-9)) << text << " on " << cluster;
          const bool is_latency = whole.interleave == 3 && rows == 24 && whole.tensor == 1;
          EXPECT_GT(bound, (is_latency ? 0.7 : 0) * step) << text;
        }
      }
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
    if (text.find("recompute=full") != std::string::npos) continue;  // it finds blocks by numbered scopes
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

std::vector<size_t> first_layers(const std::vector<double>& seconds, int64_t stages, size_t repeated_from = 0,
                                 size_t repeated_to = 0, LayerSplit layer_split = LayerSplit::even) {
  std::vector<AssignedLayer> layers;
  for (size_t i = 0; i < seconds.size(); ++i) layers.push_back({i, seconds[i], i >= repeated_from && i < repeated_to});
  return assign_layers(layers, stages, layer_split);
}

TEST(AssignLayers, BalancesTheSlowestStage) {
  using Begins = std::vector<size_t>;
  EXPECT_EQ(first_layers({1, 1, 1, 1}, 2), (Begins{0, 2, 4}));
  EXPECT_EQ(first_layers({5, 1, 1, 1}, 2), (Begins{0, 1, 4}));
  EXPECT_EQ(first_layers({1, 1, 1, 9}, 3), (Begins{0, 1, 3, 4}));
  EXPECT_EQ(first_layers({1, 2}, 2), (Begins{0, 1, 2}));
  EXPECT_EQ(first_layers({9, 1, 1, 1, 1, 9}, 2, 1, 5), (Begins{0, 3, 6}));  // copies evenly, the rest at the ends
  EXPECT_EQ(first_layers({9, 1, 1, 1, 1, 9}, 2, 1, 5, LayerSplit::balanced), (Begins{0, 3, 6}));
  EXPECT_EQ(first_layers({1, 1, 1, 1, 1, 3}, 2, 0, 6), (Begins{0, 3, 6}));
  EXPECT_EQ(first_layers({1, 1, 1, 1, 1, 3}, 2, 0, 6, LayerSplit::balanced), (Begins{0, 4, 6}));
  EXPECT_THROW(first_layers({1, 2}, 3), InvalidArgument);
  EXPECT_THROW(first_layers({1, 2}, 3, 0, 0, LayerSplit::balanced), InvalidArgument);
}

/// Seconds of the slowest of the stages that begin at these layers.
double slowest_of(const std::vector<double>& seconds, const std::vector<size_t>& begins) {
  double most = 0;
  for (size_t stage = 0; stage + 1 < begins.size(); ++stage) {
    double sum = 0;
    for (size_t i = begins[stage]; i < begins[stage + 1]; ++i) sum += seconds[i];
    most = std::max(most, sum);
  }
  return most;
}

/// The minimum of the slowest stage's seconds over all splits of the layers from `begin` on.
double min_slowest(const std::vector<double>& seconds, size_t begin, int64_t stages) {
  if (stages == 1) return slowest_of(seconds, {begin, seconds.size()});
  double least = std::numeric_limits<double>::infinity();
  for (size_t end = begin + 1; end + static_cast<size_t>(stages) <= seconds.size() + 1; ++end) {
    least = std::min(least, std::max(slowest_of(seconds, {begin, end}), min_slowest(seconds, end, stages - 1)));
  }
  return least;
}

TEST(AssignLayers, NoOtherSplitHasAFasterSlowestStage) {
  std::mt19937 random(3);
  for (int i = 0; i < 300; ++i) {
    std::vector<double> seconds(1 + random() % 9);
    for (double& one : seconds) one = i % 2 == 0 ? 1 + static_cast<double>(random() % 5) : 1e-3 * (1 + random() % 9999);
    for (int64_t stages = 1; stages <= static_cast<int64_t>(seconds.size()); ++stages) {
      const std::vector<size_t> begins = first_layers(seconds, stages, 0, seconds.size(), LayerSplit::balanced);
      ASSERT_EQ(begins.size(), static_cast<size_t>(stages) + 1);
      EXPECT_EQ(begins.back(), seconds.size());
      for (int64_t s = 0; s < stages; ++s) EXPECT_LT(begins[s], begins[s + 1]);
      EXPECT_NEAR(slowest_of(seconds, begins), min_slowest(seconds, 0, stages), 1e-9);
    }
  }
}

// The vocabulary takes as long as several blocks.
TEST(SearchConfigurations, GivesFewerBlocksToAStageWithMore) {
  const Priced priced(forward_of("gpt:layers=8,hidden=1024,heads=8,seq=256,vocab=50000"), "a100-80@partita", 4);
  const std::string pins = "data=1,tensor=1,pipeline=4,micro_batch=2,interleave=1";
  const PricedConfiguration even = *priced.search(0, parse_pins(pins + ",deal=even")).best;
  const PricedConfiguration found = *priced.search(0, parse_pins(pins)).best;
  EXPECT_EQ(found.configuration.layer_split, LayerSplit::balanced);
  EXPECT_LT(found.price.step_seconds, 0.95 * even.price.step_seconds);
  const PricedConfiguration pinned = *priced.search(0, parse_pins(pins + ",deal=balanced")).best;
  EXPECT_EQ(pinned.configuration, found.configuration);
  const auto blocks_of = [&](const Price& price, size_t stage) {
    size_t count = 0;
    for (size_t u = 0; u < price.layers[stage].size(); ++u)
      count += priced.costs->folded().units[u].is_copy ? price.layers[stage][u].count() : 0;
    return count;
  };
  for (size_t stage = 0; stage < 4; ++stage) EXPECT_EQ(blocks_of(even.price, stage), 2U);
  EXPECT_LT(blocks_of(found.price, 3), 2U);
}

}  // namespace
}  // namespace partita
