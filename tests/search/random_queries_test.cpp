// Random questions to the planner: no configuration that it chooses among takes less time than it says, the answer does
// not depend on what else is asked for, and its text gives the same price again.

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "planner/pricing/searched_space.h"
#include "planner/pricing/test_pricing.h"

namespace partita {
namespace {

constexpr double kRounding = 1e-9;

class Draws {
 public:
  explicit Draws(uint64_t seed) : random_(seed) {}
  int64_t below(int64_t count) { return std::uniform_int_distribution<int64_t>(0, count - 1)(random_); }
  double between(double low, double high) { return std::uniform_real_distribution<double>(low, high)(random_); }
  bool chance(double share) { return between(0, 1) < share; }
  template <class T>
  T one_of(const std::vector<T>& all) {
    return all[static_cast<size_t>(below(static_cast<int64_t>(all.size())))];
  }

 private:
  std::mt19937_64 random_;
};

int64_t number_from(const char* variable, int64_t otherwise) {
  const char* given = std::getenv(variable);
  return given == nullptr ? otherwise : std::atoll(given);
}

std::string draw_model(Draws& draws) {
  const int64_t layers = 1 + draws.below(16), heads = draws.one_of<int64_t>({2, 4, 6, 8, 12});
  const int64_t hidden = heads * draws.one_of<int64_t>({16, 64, 128}), seq = draws.one_of<int64_t>({16, 64, 256, 1024});
  switch (draws.below(8)) {
    case 0:
    case 1:
      return fmt::format("gpt:layers={},hidden={},heads={},seq={},vocab={}", layers, hidden, heads, seq,
                         draws.one_of<int64_t>({512, 5003, 50000}));
    case 2:
      return fmt::format("llama:layers={},hidden={},heads={},kv_heads=2,intermediate={},seq={},vocab=1000", layers,
                         hidden, heads, 2 * hidden, seq);
    case 3: return fmt::format("bert:layers={},hidden={},heads={},seq={},vocab=2000", layers, hidden, heads, seq);
    case 4: return fmt::format("mlp:layers={},hidden={}", layers, draws.one_of<int64_t>({32, 512, 4096}));
    case 5: return fmt::format("resnet18:width={},size=32", draws.one_of<int64_t>({8, 64}));
    case 6: return fmt::format("vit:layers={},hidden={},heads={}", layers, hidden, heads);
    default: return "recommender";
  }
}

/// The best of a question is looked for in a cluster of up to 64 ranks, with links and a memory of its own.
struct Query {
  explicit Query(uint64_t number) : seed(number), draws(number) {
    model = draw_model(draws);
    batch = draws.one_of<int64_t>({1, 4, 6, 12, 24, 48, 64, 96});
    const int64_t ranks = draws.one_of<int64_t>({1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 40, 64});
    const std::string preset =
        draws.one_of<std::string>({"v100", "a100-40", "a100-80", "h100", "h200", "b200", "ascend910", "cpu"});
    cluster = cluster_named(preset == "cpu" ? preset : preset + ":8");
    if (draws.chance(0.3)) cluster = cluster_named("a100-80:8@partita");
    const double faster = draws.between(0.1, 4);
    for (LinkLevel& level : cluster.levels) level.bandwidth *= faster;
    cluster = resized(std::move(cluster), ranks);
    memory = cluster.device.memory;
    if (draws.chance(0.5)) {
      const double whole = priced().costs->price({.data = std::gcd(batch, ranks)}).peak_memory();
      memory = whole * draws.between(0.05, 1.2);
    }
  }
  Priced priced() const { return Priced(forward_of_model(model, batch), cluster); }
  std::string name() const {
    return fmt::format("query {}: {} with batch {} on {} ranks of {}, {:.4g} bytes", seed, model, batch,
                       cluster.ranks(), cluster.name, memory);
  }

  uint64_t seed;
  Draws draws;
  std::string model;
  int64_t batch = 0;
  Cluster cluster;
  double memory = 0;
};

std::vector<int64_t> divisors_of(int64_t number) {
  std::vector<int64_t> result;
  for (int64_t d = 1; d <= number; ++d) {
    if (number % d == 0) result.push_back(d);
  }
  return result;
}

/// Configurations that the page docs/guide/planning.md says are searched, like another one or not.
class Neighbours {
 public:
  Neighbours(Draws& draws, const Priced& priced)
      : draws_(draws), costs_(*priced.costs), ranks_(priced.cluster.ranks()) {}

  /// None: it has more ranks than there are, or more stages than layers.
  std::optional<Configuration> draw(const Configuration& best) {
    Configuration one = draws_.chance(0.3) ? Configuration{} : best;
    const int64_t changes = one == best ? 1 + draws_.below(3) : 12;
    for (int64_t i = 0; i < changes; ++i) change(one);
    if (one.ranks() > ranks_ || one.pipeline * one.interleave > costs_.layers()) return std::nullopt;
    const std::vector<int64_t> groups = numbers_of(ranks_ / one.tensor);
    if (std::find(groups.begin(), groups.end(), one.pipeline) == groups.end() &&
        (costs_.repeated_layers() == 0 || costs_.repeated_layers() % one.pipeline != 0))
      return std::nullopt;
    if (one.tensor == 1) one.cuts = TensorCuts::blocks;
    const bool is_searched = one.cuts == TensorCuts::searched;
    one.squeeze = is_searched && best.squeeze > 0 ? 1 + draws_.below(kMaxSqueeze) : 0;
    one.links = is_searched ? draws_.one_of(costs_.links(one)) : 0;
    if (one.tensor == 1 || one.cuts == TensorCuts::searched) one.sequence_parallel = false;
    if (one.pipeline == 1) one.interleave = 1, one.layer_split = LayerSplit::even;
    one.order = one.interleave > 1                       ? Order::interleaved
                : one.pipeline > 1 && draws_.chance(0.5) ? Order::zero_bubble
                                                         : Order::one_forward_one_backward;
    if (one.data == 1) one.zero = 0;
    const int64_t least = costs_.min_rows(one), rows = costs_.batch() / one.data;
    if (rows % least != 0) return std::nullopt;
    if (rows % one.micro_batch != 0 || one.micro_batch % least != 0) {
      one.micro_batch = least * draws_.one_of(divisors_of(rows / least));
    }
    if (one.recompute.counts.size() != static_cast<size_t>(one.pipeline)) one.recompute.counts.clear();
    if (draws_.chance(0.3)) draw_recomputed(one);
    return one;
  }

 private:
  std::vector<int64_t> numbers_of(int64_t ranks) const {
    std::vector<int64_t> result = divisors_of(ranks);
    for (int64_t one = 2; one <= ranks; one = ranks <= 16 ? one + 1 : 2 * one) result.push_back(one);
    return result;
  }

  void change(Configuration& one) {
    switch (draws_.below(9)) {
      case 0: one.data = draws_.one_of(divisors_of(costs_.batch())); break;
      case 1: one.tensor = draws_.one_of(numbers_of(ranks_)); break;
      case 2: one.cuts = draws_.chance(0.5) ? TensorCuts::searched : TensorCuts::blocks; break;
      case 3: one.sequence_parallel = draws_.chance(0.5); break;
      case 4:
        if (one.tensor > ranks_) break;
        one.pipeline =
            draws_.one_of(draws_.chance(0.5) && costs_.repeated_layers() > 0 ? divisors_of(costs_.repeated_layers())
                                                                             : numbers_of(ranks_ / one.tensor));
        break;
      case 5: one.micro_batch = draws_.one_of(divisors_of(costs_.batch() / one.data)); break;
      case 6: one.interleave = 1 + draws_.below(8); break;
      case 7: one.layer_split = draws_.chance(0.5) ? LayerSplit::balanced : LayerSplit::even; break;
      default: one.zero = draws_.below(4); break;
    }
    if (one.micro_batch == 0) one.micro_batch = costs_.batch() / one.data;
  }

  void draw_recomputed(Configuration& one) {
    one.recompute = draws_.one_of<Recompute>({Recompute::none, Recompute::selective, Recompute::full});
    if (draws_.chance(0.5)) return;
    const int64_t most = costs_.layers() / one.pipeline + 1;
    std::vector<RecomputedLayers::Counts> counts;
    for (int64_t g = 0; g < one.pipeline; ++g) counts.push_back({draws_.below(most), draws_.below(2)});
    one.recompute = RecomputedLayers(std::move(counts));
  }

  Draws& draws_;
  NetworkCosts& costs_;
  const int64_t ranks_;
};

/// Numbers of everything that was checked.
struct Counts {
  int64_t queries = 0, neighbours = 0, fit = 0, idle = 0, recomputed = 0, pipelines = 0;
};

/// Checks the lower bounds of a configuration that are known before it is simulated. Each uses more of it.
void expect_bounds(const SearchedSpace& space, NetworkCosts& costs, const Configuration& configuration,
                   double seconds) {
  const double most = seconds * (1 + kRounding);
  EXPECT_LE(space.bound_of_sizes(configuration), most) << "sizes of " << print(configuration);
  EXPECT_LE(space.bound_of_layers(configuration), most) << "layers of " << print(configuration);
  EXPECT_LE(costs.stages(configuration).lower_bound(configuration.zero), most) << print(configuration);
  if (configuration.recompute == Recompute::none) return;
  EXPECT_LE(space.bound_of_excess(configuration), most) << "nothing recomputed: " << print(configuration);
}

void expect_same(const PricedConfiguration& one, const PricedConfiguration& other, const char* what) {
  EXPECT_EQ(print(one.configuration), print(other.configuration)) << what;
  EXPECT_EQ(one.price.step_seconds, other.price.step_seconds) << what;
  EXPECT_EQ(one.price.peak_memory(), other.price.peak_memory()) << what;
}

/// Asked alone, with a runner-up, as pins and as a text.
std::optional<ConfigurationSearch> expect_one_answer(const Query& query) {
  const auto search = [&](const Pins& pins, bool runner_up) {
    const Priced priced = query.priced();
    return search_configurations({.costs = *priced.costs,
                                  .ranks = query.cluster.ranks(),
                                  .memory_bytes = query.memory,
                                  .pins = pins,
                                  .runner_up = runner_up});
  };
  ConfigurationSearch found = search({}, false);
  const ConfigurationSearch with_second = search({}, true);
  EXPECT_EQ(found.best.has_value(), with_second.best.has_value());
  if (!found.best) return std::nullopt;
  EXPECT_LE(found.lower_bound_seconds, found.best->price.step_seconds);
  expect_same(*found.best, *with_second.best, "with a runner-up");
  const std::string text = print(found.best->configuration);
  expect_same(*found.best, *search(parse_pins(text), false).best, "as pins");
  expect_same(*found.best, {found.best->configuration, query.priced().price(text)}, "as a text");
  return found;
}

void ask(uint64_t seed, int64_t neighbours, Counts& counts) {
  Query query(seed);
  SCOPED_TRACE(query.name());
  const std::optional<ConfigurationSearch> found = expect_one_answer(query);
  if (!found) return;
  ++counts.queries;
  const Configuration& best = found->best->configuration;
  counts.idle += best.ranks() < query.cluster.ranks() ? 1 : 0;
  counts.recomputed += best.recompute == Recompute::none ? 0 : 1;
  counts.pipelines += best.pipeline > 1 ? 1 : 0;
  const Priced priced = query.priced();
  const SearchRequest request{.costs = *priced.costs, .ranks = query.cluster.ranks(), .memory_bytes = query.memory};
  const SearchedSpace space(request);
  Neighbours others(query.draws, priced);
  for (int64_t i = 0, tries = 0; i < neighbours && tries < 20 * neighbours; ++tries) {
    const std::optional<Configuration> one = others.draw(best);
    if (!one) continue;
    EXPECT_TRUE(space.contains(*one)) << print(*one);
    try {
      const Price price = priced.costs->price(*one);
      ++i;
      ++counts.neighbours;
      expect_bounds(space, *priced.costs, *one, price.step_seconds);
      if (price.peak_memory() > query.memory) continue;
      ++counts.fit;
      EXPECT_GE(price.step_seconds, found->lower_bound_seconds * (1 - kRounding))
          << print(*one) << " for " << print(best);
    } catch (const InvalidArgument&) {  // heads that do not divide, more layers recomputed than there are
    }
  }
}

TEST(RandomQueries, NothingThatIsSearchedIsFaster) {
  const int64_t first = number_from("PARTITA_QUERY", 0), queries = number_from("PARTITA_QUERIES", 40);
  const int64_t neighbours = number_from("PARTITA_NEIGHBOURS", 20);
  fmt::print("seeds {} to {}, {} neighbours each\n", first, first + queries - 1, neighbours);
  Counts counts;
  for (int64_t seed = first; seed < first + queries; ++seed) ask(static_cast<uint64_t>(seed), neighbours, counts);
  fmt::print("{} answers, {} with idle ranks, {} with recomputed layers, {} with stages; {} neighbours, {} fit\n",
             counts.queries, counts.idle, counts.recomputed, counts.pipelines, counts.neighbours, counts.fit);
  if (queries < 40) return;
  for (const int64_t count : {counts.idle, counts.recomputed, counts.pipelines}) EXPECT_GT(count, 0);
  EXPECT_GT(counts.fit, queries * neighbours / 4);
}

// Candidates do not depend on bandwidths but for the few whose links are of another class then; each is priced no
// higher on faster links.
TEST(RandomQueries, MoreBandwidthIsNoSlower) {
  const int64_t first = number_from("PARTITA_QUERY", 0), queries = number_from("PARTITA_QUERIES", 30);
  int64_t slower = 0;
  for (int64_t seed = first; seed < first + queries; ++seed) {
    Query query(static_cast<uint64_t>(seed));
    const double faster = query.draws.one_of<double>({1.05, 1.1, 1.25, 1.5, 2});
    SCOPED_TRACE(fmt::format("{}, links x {}", query.name(), faster));
    const auto seconds = [&] {
      const ConfigurationSearch found = query.priced().search(query.memory);
      return found.best ? found.best->price.step_seconds : std::numeric_limits<double>::infinity();
    };
    const double before = seconds();
    for (LinkLevel& level : query.cluster.levels) {
      for (double* bandwidth : {&level.bandwidth, &level.total_bandwidth, &level.reduce_bandwidth})
        *bandwidth *= faster;
    }
    const double after = seconds();
    slower += after > before * (1 + kRounding) ? 1 : 0;
    EXPECT_LE(after, before * 1.01);
    if (after > before * (1 + kRounding)) fmt::print("{:.3f} % slower: {}\n", 100 * (after / before - 1), query.name());
  }
  fmt::print("{} of {} are slower with more bandwidth\n", slower, queries);
  EXPECT_LE(slower * 200, queries);
}

}  // namespace
}  // namespace partita
