#include "planning/search_configurations.h"

#include <algorithm>
#include <queue>
#include <tuple>

namespace partita {
namespace {

constexpr double kTie = 1e-9;  // prices that differ by rounding alone
constexpr int64_t kMostInterleave = 8;
constexpr int64_t kFewRanks = 16;
constexpr int64_t kMostMicroBatch = 64;  // rows: beyond, products do not get faster

std::vector<int64_t> divisors(int64_t number, int64_t most) {
  std::vector<int64_t> result;
  for (int64_t d = 1; d <= std::min(number, most); ++d) {
    if (number % d == 0) result.push_back(d);
  }
  return result;
}

/// Of ranks that are to be divided: divisors, and others that leave some of them idle: all of few ranks, of many powers
/// of two.
std::vector<int64_t> shares(int64_t ranks, int64_t most) {
  std::vector<int64_t> result = divisors(ranks, most);
  for (int64_t parts = 2; parts <= std::min(ranks, most); parts = ranks <= kFewRanks ? parts + 1 : parts * 2) {
    if (ranks % parts != 0) result.push_back(parts);
  }
  return result;
}

/// The pinned value alone, or all of those given.
template <class T>
std::vector<T> allowed(const std::optional<T>& pin, std::vector<T> all) {
  if (pin) return {*pin};
  return all;
}

/// Of two that take as long the lesser is taken: less is recomputed, gathered and cut.
auto simplicity(const Configuration& configuration) {
  return std::tuple(configuration.cuts, configuration.recompute, configuration.zero, configuration.interleave,
                    configuration.sequence_parallel, configuration.pipeline, configuration.tensor);
}

/// A configuration whose lowering is known, with what no price of it is below.
struct Candidate {
  double bound = 0;
  Configuration configuration;
  bool is_own = false;  // the bound is that of its stages, not of layers dealt out evenly
  bool operator<(const Candidate& other) const { return bound > other.bound; }  // the least first
};

class ConfigurationSearcher {
 public:
  explicit ConfigurationSearcher(const SearchRequest& request) : request_(request), costs_(request.costs) {}

  ConfigurationSearch run() {
    enumerate();
    if (queue_.empty()) {
      throw InvalidArgument(refusal_.empty() ? fmt::format("[--pin] nothing is left to choose from, got {} ranks and "
                                                           "{} rows, expected pins that divide them",
                                                           request_.ranks, costs_.batch())
                                             : refusal_);
    }
    while (!queue_.empty()) {
      const Candidate next = queue_.top();
      queue_.pop();
      if (next.bound > most_seconds() * (1 + kTie)) break;
      next.is_own ? follow(next.configuration) : bound(next.configuration);
    }
    if (!result_.best && !result_.least) throw InvalidArgument(refusal_);  // what there is cannot be lowered
    if (result_.best) result_.lower_bound_seconds = result_.best->price.step_seconds;  // all others are above it
    take_runner_up();
    return std::move(result_);
  }

 private:
  using Shape = std::tuple<int64_t, int64_t, int64_t, int64_t>;
  static Shape shape_of(const Configuration& configuration) {
    return {configuration.data, configuration.context, configuration.tensor, configuration.pipeline};
  }

  /// No configuration above it is of interest.
  double most_seconds() const {
    constexpr double kAny = std::numeric_limits<double>::infinity();
    if (!result_.best) return kAny;
    if (!request_.runner_up) return result_.best->price.step_seconds;
    double second = kAny;
    for (const auto& [shape, priced] : shapes_) {
      if (shape != shape_of(result_.best->configuration)) second = std::min(second, priced.price.step_seconds);
    }
    return second;
  }

  void take_runner_up() {
    for (auto& [shape, priced] : shapes_) {
      if (shape == shape_of(result_.best->configuration)) continue;
      const bool is_better = !result_.runner_up || priced.price.step_seconds < result_.runner_up->price.step_seconds;
      if (is_better) result_.runner_up = std::move(priced);
    }
  }

  void keep_shape(const Configuration& configuration, const Price& price) {
    const auto [entry, fresh] = shapes_.try_emplace(shape_of(configuration), PricedConfiguration{configuration, price});
    if (!fresh && price.step_seconds < entry->second.price.step_seconds) entry->second = {configuration, price};
  }

  void enumerate() {
    const Pins& pins = request_.pins;
    for (int64_t tensor : allowed(pins.tensor, shares(request_.ranks, request_.ranks))) {
      for (int64_t context : allowed(pins.context, {1})) {
        const int64_t share = tensor * context;
        if (share > request_.ranks) continue;
        for (int64_t pipeline : allowed(pins.pipeline, shares(request_.ranks / share, costs_.layers()))) {
          if (pipeline > request_.ranks / share) continue;
          for (int64_t data : data_sizes(request_.ranks / share / pipeline)) {
            enumerate_cuts({.data = data, .context = context, .tensor = tensor, .pipeline = pipeline});
          }
        }
      }
    }
  }

  /// As many as can be; with fewer it goes on in `idle`.
  std::vector<int64_t> data_sizes(int64_t most) const {
    if (request_.pins.data) return {*request_.pins.data};
    for (int64_t data = most; data > 0; --data) {
      if (costs_.batch() % data == 0) return {data};
    }
    return {};
  }

  void enumerate_cuts(Configuration configuration) {
    if (configuration.ranks() > request_.ranks || costs_.batch() % configuration.data != 0) return;
    for (TensorCuts cuts : allowed(request_.pins.cuts, {TensorCuts::blocks, TensorCuts::searched})) {
      const bool is_searched = cuts == TensorCuts::searched;
      if (is_searched && (configuration.tensor == 1 || configuration.context > 1 || !costs_.searches())) continue;
      configuration.cuts = cuts;
      enumerate_kinds(configuration);
    }
  }

  void enumerate_kinds(Configuration configuration) {
    const Pins& pins = request_.pins;
    const int64_t rows = costs_.batch() / configuration.data;
    const bool may_cut_sequence = configuration.tensor > 1 && configuration.cuts == TensorCuts::blocks;
    std::vector<bool> sequence{false};
    if (may_cut_sequence) sequence.push_back(true);
    for (bool is_cut : allowed(pins.sequence_parallel, sequence)) {
      if (is_cut && !may_cut_sequence) continue;
      configuration.sequence_parallel = is_cut;
      configuration.recompute = pins.recompute.value_or(Recompute::none);
      if (can_lower(configuration)) enumerate_rows(configuration, rows);
    }
  }

  void enumerate_rows(Configuration configuration, int64_t rows) {
    const Pins& pins = request_.pins;
    for (int64_t micro_batch : allowed(pins.micro_batch, divisors(rows, kMostMicroBatch))) {
      if (rows % micro_batch != 0 || micro_batch % costs_.least_rows(configuration) != 0) continue;
      configuration.micro_batch = micro_batch;
      for (int64_t interleave : allowed(pins.interleave, interleaves(configuration.pipeline))) {
        if (interleave > 1 && configuration.pipeline == 1) continue;
        configuration.interleave = interleave;
        configuration.order =
            pins.order.value_or(interleave > 1 ? Order::interleaved : Order::one_forward_one_backward);
        std::vector<int64_t> levels{0};
        if (configuration.data * configuration.context > 1) levels = {0, 1, 2, 3};
        for (int64_t zero : allowed(pins.zero, levels)) {
          configuration.zero = zero;
          queue_.push({coarse_bound(configuration), configuration});
        }
      }
    }
  }

  std::vector<int64_t> interleaves(int64_t pipeline) const {
    std::vector<int64_t> result{1};
    for (int64_t interleave = 2; pipeline > 1 && interleave <= kMostInterleave; ++interleave) {
      if (costs_.repeated_layers() % (pipeline * interleave) == 0) result.push_back(interleave);
    }
    return result;
  }

  /// Whether the network can be cut so at all. What can without recomputation can with it.
  bool can_lower(Configuration configuration) {
    configuration.recompute = Recompute::none;
    configuration.micro_batch = costs_.least_rows(configuration);
    try {
      costs_.row_seconds(configuration);
      return true;
    } catch (const InvalidArgument& error) {
      refusal_ = error.what();
      return false;
    }
  }

  /// A micro-batch goes through all layers, one after the other, and no group of stages takes less than its share of
  /// these. Recomputation only adds to them.
  double coarse_bound(Configuration configuration) {
    configuration.recompute = Recompute::none;
    const double micro_batch = costs_.row_seconds(configuration) * static_cast<double>(configuration.micro_batch);
    const double rounds = static_cast<double>(micro_batches(configuration, costs_.batch()));
    return micro_batch * std::max(1.0, rounds / static_cast<double>(configuration.pipeline));
  }

  /// The same on fewer ranks that share the batch: for small networks reductions over all of them take too long. Its
  /// bound is no lower.
  void idle(Configuration configuration) {
    if (request_.pins.data) return;
    const int64_t batch = costs_.batch();
    do {
      if (--configuration.data == 0) return;
    } while (batch % configuration.data != 0 || batch / configuration.data % configuration.micro_batch != 0);
    if (configuration.data * configuration.context == 1 && configuration.zero > 0) return;
    queue_.push({coarse_bound(configuration), configuration});
  }

  void bound(const Configuration& configuration) {
    idle(configuration);
    StagePrices* prices = stage_prices(configuration);
    if (prices == nullptr) return recompute_more(configuration);
    const double memory = prices->least_memory(configuration.zero);
    if (memory > request_.memory_bytes) return refuse(configuration, memory);
    queue_.push({prices->lower_bound(configuration.zero), configuration, /*is_own=*/true});
  }

  void follow(const Configuration& configuration) {
    Price price = stage_prices(configuration)->price(configuration.zero);
    const double memory = price.peak_memory();
    if (memory > request_.memory_bytes) return refuse(configuration, memory);
    if (request_.runner_up) keep_shape(configuration, price);
    if (result_.best) {
      const double best = result_.best->price.step_seconds;
      const bool ties = price.step_seconds <= best * (1 + kTie);
      const bool simpler = simplicity(configuration) < simplicity(result_.best->configuration);
      if (price.step_seconds >= best * (1 - kTie) && !(ties && simpler)) return;
    }
    result_.best = {configuration, std::move(price)};
  }

  /// What does not fit may do so when more is recomputed, which never takes less time.
  void refuse(const Configuration& configuration, double memory) {
    keep_least(configuration, memory);
    recompute_more(configuration);
  }

  void recompute_more(Configuration configuration) {
    if (request_.pins.recompute || configuration.recompute == Recompute::full) return;
    configuration.recompute = configuration.recompute == Recompute::none ? Recompute::selective : Recompute::full;
    queue_.push({coarse_bound(configuration), configuration});
  }

  void keep_least(const Configuration& configuration, double memory) {
    if (result_.least && memory >= least_memory_) return;
    least_memory_ = memory;
    result_.least = {configuration, stage_prices(configuration)->price(configuration.zero)};
    least_memory_ = std::max(least_memory_, result_.least->price.peak_memory());
  }

  /// None where the network cannot be lowered so.
  StagePrices* stage_prices(const Configuration& configuration) {
    try {
      return &costs_.stages(configuration);
    } catch (const InvalidArgument& error) {
      // The simplest one says most.
      if (refusal_.empty() || configuration.recompute == Recompute::none) refusal_ = error.what();
      return nullptr;
    }
  }

  const SearchRequest& request_;
  NetworkCosts& costs_;
  std::priority_queue<Candidate> queue_;
  std::string refusal_;  // why something could not be lowered
  double least_memory_ = 0;
  std::map<Shape, PricedConfiguration> shapes_;  // the best of each, for the runner-up
  ConfigurationSearch result_;
};

}  // namespace

Pins parse_pins(std::string_view text) {
  Pins pins;
  const Configuration given = parse_configuration(text, "--pin");
  for (const std::string& key : keys_of(text)) {
    if (key == "data") pins.data = given.data;
    if (key == "tensor") pins.tensor = given.tensor;
    if (key == "context") pins.context = given.context;
    if (key == "pipeline") pins.pipeline = given.pipeline;
    if (key == "interleave") pins.interleave = given.interleave;
    if (key == "micro_batch") pins.micro_batch = given.micro_batch;
    if (key == "zero") pins.zero = given.zero;
    if (key == "cuts") pins.cuts = given.cuts;
    if (key == "sequence_parallel") pins.sequence_parallel = given.sequence_parallel;
    if (key == "recompute") pins.recompute = given.recompute;
    if (key == "order") pins.order = given.order;
  }
  return pins;
}

std::vector<KnownTemplate> known_templates() {
  return {{"data parallel", {.data = {}, .tensor = 1, .context = 1, .pipeline = 1, .zero = 0}},
          {"sharded data parallel", {.tensor = 1, .context = 1, .pipeline = 1, .zero = 3}},
          {"Megatron", {.context = 1, .zero = 1, .cuts = TensorCuts::blocks}}};
}

ConfigurationSearch search_configurations(const SearchRequest& request) { return ConfigurationSearcher(request).run(); }

}  // namespace partita
