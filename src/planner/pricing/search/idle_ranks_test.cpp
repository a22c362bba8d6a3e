// Ranks without work change no price: that of a found configuration, of the same one pinned, and of the same one on a
// cluster of just its ranks.

#include <gtest/gtest.h>

#include <deque>
#include <random>

#include "planner/pricing/search/test_pricing.h"

namespace partita {
namespace {

constexpr double kRounding = 1e-12;

/// A cluster of three levels. Its nodes have 6 ranks, which share the bandwidth of their links.
Cluster odd_cluster() {
  Cluster cluster = cluster_named("v100:4");
  cluster.levels[0].size = 6;
  cluster.levels[0].share_by_members.clear();
  cluster.levels[0].total_bandwidth = 2e11;
  cluster.levels.push_back(cluster.levels[1]);
  cluster.levels[1].size = 3;
  return cluster;
}

int64_t pick(std::mt19937& random, const std::vector<int64_t>& all) { return all[random() % all.size()]; }

/// Seconds of a step of a configuration on a cluster of just its ranks.
double alone(const Graph& graph, const Cluster& cluster, const std::string& text) {
  return Priced(graph, resized(cluster, parse_configuration(text).ranks())).price(text).step_seconds;
}

TEST(IdleRanks, ChangeNoPriceOfAConfiguration) {
  std::mt19937 random(11);
  const std::vector<Cluster> clusters{cluster_named("a100-80:64"), cluster_named("v100:8"), odd_cluster()};
  const Graph graph = forward_of_model("gpt:layers=6,hidden=192,heads=6,seq=64,vocab=1003", 120);
  std::deque<Priced> many;
  for (const Cluster& cluster : clusters) many.emplace_back(graph, cluster);
  int priced = 0, searched = 0, straddling = 0;
  for (int i = 0; i < 120; ++i) {
    Configuration one{.data = pick(random, {1, 2, 3, 4, 5, 8}),
                      .context = pick(random, {1, 1, 1, 2}),
                      .tensor = pick(random, {1, 2, 3, 6}),
                      .pipeline = pick(random, {1, 2, 3})};
    one.micro_batch = one.tensor * pick(random, {1, 2});
    if (one.tensor > 1 && one.context == 1 && random() % 3 == 0) one.cuts = TensorCuts::searched;
    one.zero = pick(random, {0, 1, 3});
    const size_t c = random() % clusters.size();
    if (one.ranks() > clusters[c].ranks() || 120 / one.data % one.micro_batch != 0) continue;
    SCOPED_TRACE(print(one) + " on " + std::to_string(c));
    const double among_many = many[c].price(print(one)).step_seconds;
    EXPECT_NEAR(among_many, alone(graph, clusters[c], print(one)), kRounding * among_many);
    ++priced;
    searched += one.cuts == TensorCuts::searched;
    straddling += clusters[c].levels[0].size % (one.tensor * one.context) != 0;
  }
  EXPECT_GT(priced, 60);
  EXPECT_GT(searched, 10);
  EXPECT_GT(straddling, 10);
}

TEST(IdleRanks, ChangeNothingThatIsFound) {
  std::mt19937 random(12);
  int idle = 0, searched = 0;
  for (int i = 0; i < 16; ++i) {
    const std::string model =
        i % 4 == 3 ? fmt::format("mlp:layers={},hidden={}", pick(random, {2, 5}), pick(random, {512, 4000}))
                   : fmt::format("gpt:layers={},hidden={},heads={},seq=128,vocab=8003", pick(random, {5, 8, 13}),
                                 pick(random, {240, 1000}), pick(random, {5, 10}));
    const Graph graph = forward_of_model(model, pick(random, {30, 42, 66}));
    const Cluster cluster = i % 3 == 2 ? odd_cluster() : cluster_named(i % 2 == 0 ? "h200:8" : "v100:8");
    const PricedConfiguration found = *Priced(graph, cluster).search(0).best;
    const std::string text = print(found.configuration);
    SCOPED_TRACE(model + " on " + cluster.name + ": " + text);
    const double seconds = found.price.step_seconds;
    const Pins pins = parse_pins(text);
    EXPECT_NEAR(Priced(graph, cluster).search(0, pins).best->price.step_seconds, seconds, kRounding * seconds);
    const Cluster own = resized(cluster, found.configuration.ranks());
    EXPECT_NEAR(Priced(graph, own).search(0, pins).best->price.step_seconds, seconds, kRounding * seconds);
    EXPECT_NEAR(alone(graph, cluster, text), seconds, kRounding * seconds);
    idle += found.configuration.ranks() < cluster.ranks();
    searched += found.configuration.cuts == TensorCuts::searched;
  }
  EXPECT_GE(idle, 4);
  EXPECT_GE(searched, 4);
}

}  // namespace
}  // namespace partita
