// Random networks on random clusters: plans of a search against an exhaustive grid, and against more of everything.

#include <gtest/gtest.h>

#include <random>

#include "planner/pricing/search/test_pricing.h"

namespace partita {
namespace {

using Random = std::mt19937_64;

int64_t draw(Random& random, std::initializer_list<int64_t> from) {
  return *(from.begin() + std::uniform_int_distribution<size_t>(0, from.size() - 1)(random));
}

std::string draw_pair_model(Random& random) {
  const int64_t layers = draw(random, {1, 2, 3, 4, 6, 8}), heads = draw(random, {2, 4, 6, 8});
  const int64_t hidden = heads * draw(random, {16, 32, 64, 128}), seq = draw(random, {16, 64, 256});
  switch (draw(random, {0, 1, 2, 3, 4})) {
    case 0:
      return fmt::format("gpt:layers={},hidden={},heads={},seq={},vocab={}", layers, hidden, heads, seq,
                         draw(random, {512, 5000}));
    case 1:
      return fmt::format("llama:layers={},hidden={},heads={},kv_heads=2,intermediate={},seq={},vocab=1000", layers,
                         hidden, heads, 2 * hidden, seq);
    case 2: return fmt::format("mlp:layers={},hidden={}", layers, draw(random, {32, 512, 4096}));
    case 3: return fmt::format("resnet18:width={},size=32", draw(random, {8, 64}));
    default: return "recommender";
  }
}

/// A preset with links and memories of its own.
Cluster draw_cluster(Random& random, int64_t ranks) {
  constexpr const char* kPresets[] = {"v100:2", "a100-40:2", "a100-80:2", "h100:2", "b200:2", "ascend910:2", "cpu"};
  Cluster cluster = cluster_named(kPresets[draw(random, {0, 1, 2, 3, 4, 5, 6})]);
  const double faster = std::uniform_real_distribution<double>(0.1, 4)(random);
  for (LinkLevel& level : cluster.levels) level.bandwidth *= faster;
  cluster.device.memory *= std::uniform_real_distribution<double>(0.2, 1)(random);
  return resized(std::move(cluster), ranks);
}

struct Pair {
  explicit Pair(uint64_t seed) : random(seed) {
    model = draw_pair_model(random);
    batch = draw(random, {4, 8, 12, 24});
    ranks = draw(random, {1, 2, 3, 4, 6, 8});
    cluster = draw_cluster(random, ranks);
    memory = draw_memory();
  }
  Priced priced() const { return with(cluster); }
  Priced with(const Cluster& other) const { return Priced(forward_of_model(model, batch), other); }
  std::string name() const {
    return fmt::format("{} with batch {} on {} ranks of {}, {:.4g} bytes", model, batch, ranks, cluster.name, memory);
  }

  Random random;
  std::string model;
  int64_t batch = 0, ranks = 0;
  Cluster cluster;
  double memory = 0;

 private:
  /// Between what the least takes and twice what data parallelism does.
  double draw_memory() {
    const double whole = with(cluster).costs->price({.data = std::gcd(batch, ranks)}).peak_memory();
    return whole * std::uniform_real_distribution<double>(0.15, 2)(random);
  }
};

double seconds_of(const ConfigurationSearch& search) {
  return search.best ? search.best->price.step_seconds : std::numeric_limits<double>::infinity();
}

TEST(RandomPairs, NothingOfAGridIsFaster) {
  int searched = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Pair pair(seed);
    SCOPED_TRACE(pair.name());
    const Priced priced = pair.priced();
    const ConfigurationSearch search = priced.search(pair.memory);
    const double best = best_of_grid(priced, pair.memory);
    EXPECT_LE(seconds_of(search), best * (1 + 1e-9));
    if (!search.best) continue;
    EXPECT_LE(search.best->price.peak_memory(), pair.memory);
    EXPECT_LE(search.lower_bound_seconds, best * (1 + 1e-9));
    searched += search.best->configuration.cuts == TensorCuts::searched ? 1 : 0;
  }
  EXPECT_GT(searched, 10);  // that no grid has
}

TEST(RandomPairs, MoreIsNoSlower) {
  for (uint64_t seed = 1000; seed < 1060; ++seed) {
    const Pair pair(seed);
    SCOPED_TRACE(pair.name());
    const Priced priced = pair.priced();
    const ConfigurationSearch found = priced.search(pair.memory);
    const double seconds = seconds_of(found);
    // Squeezed cuts, which are tried where nothing fits otherwise, may happen to be faster than those that take more.
    const bool is_squeezed = found.best && found.best->configuration.squeeze > 0;
    EXPECT_LE(seconds_of(priced.search(1.5 * pair.memory)), seconds * (is_squeezed ? 1.01 : 1 + 1e-9)) << "more memory";
    Cluster wider = pair.cluster;
    for (LinkLevel& level : wider.levels) level.bandwidth *= 1.5;
    EXPECT_LE(seconds_of(pair.with(wider).search(pair.memory)), seconds * 1.01) << "more bandwidth";
    const Cluster fewer = resized(pair.cluster, std::max<int64_t>(1, pair.ranks - 1));
    EXPECT_LE(seconds, seconds_of(pair.with(fewer).search(pair.memory)) * 1.01) << "more ranks";
  }
}

}  // namespace
}  // namespace partita
