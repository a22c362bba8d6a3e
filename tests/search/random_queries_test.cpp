// Random questions to the planner: no configuration that it chooses among takes less time than it says, no pin finds a
// faster one, the answer does not depend on what else is asked for, and its text gives the same price again.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <random>

#include "planner/pricing/search/searched_space.h"
#include "planner/pricing/search/test_pricing.h"

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
    const std::string preset = draws.one_of<std::string>(
        {"v100", "a100-40", "a100-80", "h100", "h200", "b200", "ascend910", "v5e", "v5p", "v6e", "cpu"});
    cluster = cluster_named(preset == "cpu" ? preset : preset + ":16");  // 64 ranks, also of 4 a node
    if (draws.chance(0.3)) cluster = cluster_named("a100-80:16@partita");
    const double faster = draws.between(0.1, 4);
    for (LinkLevel& level : cluster.levels) level.bandwidth *= faster;
    cluster = resized(std::move(cluster), ranks);
    // Parts that divide neither each other nor the batch.
    if (cluster.levels.size() > 1 && cluster.levels[0].share_by_members.empty() && draws.chance(0.4)) {
      cluster.levels[0].size = draws.one_of<int64_t>({3, 5, 6, 7});
      cluster.levels[1].size = draws.one_of<int64_t>({1, 2, 3, 5, 6, 9});
      verify(cluster);
    }
    memory = cluster.device.memory;
    if (draws.chance(0.5)) {
      const double whole = priced().costs->price({.data = std::gcd(batch, cluster.ranks())}).peak_memory();
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

/// Configurations that the page docs/guide/planning.md and the line `searched` say are searched, like another one or
/// not.
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
    if (one.tensor == 1) one.cuts = TensorCuts::blocks;
    const bool is_searched = one.cuts == TensorCuts::searched;
    one.squeeze = is_searched && best.squeeze > 0 ? 1 + draws_.below(kMaxSqueeze) : 0;
    one.links = is_searched ? draws_.one_of(costs_.lowering().links(one)) : 0;
    if (one.tensor == 1 || one.cuts == TensorCuts::searched) one.sequence_parallel = false;
    if (one.pipeline == 1) one.interleave = 1, one.layer_split = LayerSplit::even;
    one.order = one.interleave > 1                       ? Order::interleaved
                : one.pipeline > 1 && draws_.chance(0.5) ? Order::zero_bubble
                                                         : Order::one_forward_one_backward;
    if (one.data == 1) one.zero = 0;
    const int64_t rows = costs_.batch() / one.data;
    if (rows % one.micro_batch != 0) one.micro_batch = draws_.one_of(divisors_of(rows));
    if (one.recompute.counts.size() != static_cast<size_t>(one.pipeline)) one.recompute.counts.clear();
    if (draws_.chance(0.3)) draw_recomputed(one);
    return one;
  }

  /// A configuration that `price` may accept, whether it is searched or not.
  Configuration draw_any(const Configuration& best) {
    Configuration one = draw(best).value_or(best);
    for (int64_t changes = 1 + draws_.below(3); changes > 0; --changes) {
      switch (draws_.below(6)) {
        case 0: one.context = 1 + draws_.below(3); break;
        case 1: one.tensor = 1 + draws_.below(ranks_); break;
        case 2: one.interleave = 1 + draws_.below(12); break;
        case 3: one.order = draws_.chance(0.5) ? Order::gpipe : Order::zero_bubble; break;
        case 4: one.squeeze = draws_.below(kMaxSqueeze + 1); break;
        default: one.links = draws_.below(kMaxLinks + 1); break;
      }
    }
    return one;
  }

  /// Some of the values of a configuration as pins: "tensor=2,zero=1".
  std::string draw_pins(const Configuration& of) {
    std::string all = print(of), pins;
    while (!all.empty()) {
      const std::string item = all.substr(0, all.find(','));
      all.erase(0, item.size() + 1);
      const bool goes_along =
          item.starts_with("links=") || item.starts_with("squeeze=") || item.starts_with("recompute=");
      if (draws_.chance(goes_along ? 0.2 : 0.4)) pins += (pins.empty() ? "" : ",") + item;
    }
    return pins;
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
        one.pipeline = 1 + draws_.below(std::min(costs_.layers(), std::max<int64_t>(1, ranks_ / one.tensor)));
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
  int64_t queries = 0, neighbours = 0, fit = 0, idle = 0, recomputed = 0, pipelines = 0, pinned = 0, fixed = 0;
};

/// Checks the lower bounds of a configuration that are known before it is simulated. Each uses more of it.
void expect_bounds(const SearchedSpace& space, NetworkCosts& costs, const Configuration& configuration,
                   double seconds) {
  const double most = seconds * (1 + kRounding);
  EXPECT_LE(space.bound_of_sizes(configuration), most) << "sizes of " << print(configuration);
  EXPECT_LE(space.bound_of_layers(configuration), most) << "layers of " << print(configuration);
  EXPECT_LE(space.bound_of_layout(configuration), most) << "layout of " << print(configuration);
  EXPECT_LE(costs.stages(configuration).lower_bound(configuration.zero), most) << print(configuration);
  if (configuration.recompute == Recompute::none) return;
  EXPECT_LE(space.bound_of_excess(configuration), most) << "nothing recomputed: " << print(configuration);
}

void expect_same(const PricedConfiguration& one, const PricedConfiguration& other, const char* what) {
  EXPECT_EQ(print(one.configuration), print(other.configuration)) << what;
  EXPECT_EQ(one.price.step_seconds, other.price.step_seconds)
      << what << ", they differ by " << one.price.step_seconds / other.price.step_seconds - 1;
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

/// A search with pins that the configuration `one` meets finds nothing faster than one without, of what that one says
/// it tried.
void expect_no_faster_pin(const SearchRequest& request, const ConfigurationSearch& found, const std::string& pins,
                          Counts& counts) {
  SCOPED_TRACE("pins " + pins);
  SearchRequest own = request;
  own.pins = parse_pins(pins);
  try {
    const ConfigurationSearch pinned = search_configurations(own);
    if (!pinned.best) return;
    ++counts.pinned;
    // Pins may leave only squeezed cuts, which the line of the free search says it did not try.
    const bool is_squeezed = pinned.best->configuration.squeeze > 0 && found.best->configuration.squeeze == 0;
    if (is_squeezed) {
      EXPECT_NE(found.searched.find("squeeze=0"), std::string::npos) << found.searched;
      EXPECT_EQ(pinned.searched.find("squeeze=0"), std::string::npos) << pinned.searched;
      return;
    }
    EXPECT_GE(pinned.best->price.step_seconds, found.lower_bound_seconds * (1 - kRounding))
        << print(pinned.best->configuration) << " for " << print(found.best->configuration);
  } catch (const InvalidArgument&) {  // heads that do not divide
  }
}

/// A configuration that `price` accepts can be pinned, and has the same price then.
void expect_pins_take(const SearchRequest& request, const Configuration& any, Counts& counts) {
  SCOPED_TRACE("pinned " + print(any));
  std::optional<PricedConfiguration> priced;
  try {
    if (any.ranks() > request.ranks) return;
    const Configuration whole = completed(any, any.ranks(), request.costs.batch());
    priced = {whole, request.costs.price(whole)};
  } catch (const InvalidArgument&) {  // it is no configuration of this network
    return;
  }
  SearchRequest own = request;
  own.memory_bytes = std::numeric_limits<double>::max();
  own.pins = parse_pins(print(priced->configuration));
  // The text leaves defaults out, but they must not be open.
  own.pins.tensor = priced->configuration.tensor, own.pins.pipeline = priced->configuration.pipeline;
  own.pins.interleave = priced->configuration.interleave, own.pins.order = priced->configuration.order;
  own.pins.cuts = priced->configuration.cuts, own.pins.recompute = priced->configuration.recompute;
  own.pins.layer_split = priced->configuration.layer_split, own.pins.zero = priced->configuration.zero;
  own.pins.sequence_parallel = priced->configuration.sequence_parallel, own.pins.links = priced->configuration.links;
  const ConfigurationSearch search = search_configurations(own);
  ++counts.fixed;
  ASSERT_TRUE(search.best);
  expect_same(*priced, *search.best, "as pins");
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
    if (tries % 10 == 0) expect_no_faster_pin(request, *found, others.draw_pins(*one), counts);
    if (tries % 10 == 5) expect_pins_take(request, others.draw_any(best), counts);
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
  const int64_t neighbours = number_from("PARTITA_NEIGHBOURS", 20), seconds = number_from("PARTITA_SECONDS", 1 << 30);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  Counts counts;
  int64_t asked = 0;
  for (; asked < queries && std::chrono::steady_clock::now() < end; ++asked)
    ask(static_cast<uint64_t>(first + asked), neighbours, counts);
  fmt::print("seeds {} to {}, {} neighbours each\n", first, first + asked - 1, neighbours);
  fmt::print(
      "{} answers, {} with idle ranks, {} with recomputed layers, {} with stages; {} neighbours, {} fit; {} searches "
      "with pins, {} of one configuration\n",
      counts.queries, counts.idle, counts.recomputed, counts.pipelines, counts.neighbours, counts.fit, counts.pinned,
      counts.fixed);
  if (asked < 40) return;
  for (const int64_t count : {counts.idle, counts.recomputed, counts.pipelines, counts.pinned, counts.fixed})
    EXPECT_GT(count, 0);
  EXPECT_GT(counts.fit, asked * neighbours / 4);
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
    std::string answers;
    const auto seconds = [&] {
      const ConfigurationSearch found = query.priced().search(query.memory);
      if (!found.best) return std::numeric_limits<double>::infinity();
      answers += " " + print(found.best->configuration);
      return found.best->price.step_seconds;
    };
    const double before = seconds();
    for (LinkLevel& level : query.cluster.levels) {
      for (double* bandwidth : {&level.bandwidth, &level.total_bandwidth, &level.reduce_bandwidth})
        *bandwidth *= faster;
    }
    const double after = seconds();
    slower += after > before * (1 + kRounding) ? 1 : 0;
    EXPECT_LE(after, before * 1.01) << answers;
    if (after > before * (1 + kRounding)) fmt::print("{:.3f} % slower: {}\n", 100 * (after / before - 1), query.name());
  }
  fmt::print("{} of {} are slower with more bandwidth\n", slower, queries);
  EXPECT_LE(slower * 200, queries);
}

}  // namespace
}  // namespace partita
