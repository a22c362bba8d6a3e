#include "planning/search_configurations.h"

#include <algorithm>
#include <queue>
#include <tuple>

#include "planning/simulate_step.h"

namespace partita {
namespace {

constexpr double kTie = 1e-9;  // prices that differ by rounding alone
constexpr int64_t kMostInterleave = 8;
constexpr double kNearlyEven = 1.005;  // of the average stage, which the slowest one takes at least
constexpr int64_t kFewRanks = 16;

/// In increasing order.
std::vector<int64_t> divisors(int64_t number, int64_t most) {
  std::vector<int64_t> result;
  for (int64_t d = 1; d * d <= number; ++d) {
    if (number % d != 0) continue;
    if (d <= most) result.push_back(d);
    if (number / d != d && number / d <= most) result.push_back(number / d);
  }
  std::sort(result.begin(), result.end());
  return result;
}

/// Of ranks that are to be divided: divisors, and others that leave some of them idle: all of few ranks, of many powers
/// of two, and what divides `parts`.
std::vector<int64_t> shares(int64_t ranks, int64_t most, int64_t parts) {
  std::vector<int64_t> result = divisors(ranks, most);
  for (const int64_t divisor : divisors(parts, std::min(ranks, most))) result.push_back(divisor);
  for (int64_t share = 2; share <= std::min(ranks, most); share = ranks <= kFewRanks ? share + 1 : share * 2) {
    result.push_back(share);
  }
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

/// Stages of a group that deal copies of a repeated layer out evenly.
std::vector<int64_t> interleaves(int64_t repeated_layers, int64_t pipeline) {
  std::vector<int64_t> result{1};
  for (int64_t interleave = 2; pipeline > 1 && interleave <= kMostInterleave; ++interleave) {
    if (repeated_layers > 0 && repeated_layers % (pipeline * interleave) == 0) result.push_back(interleave);
  }
  return result;
}

/// The pinned value alone, or all of those given.
template <class T>
std::vector<T> allowed(const std::optional<T>& pin, std::vector<T> all) {
  if (pin) return {*pin};
  return all;
}

/// Whether layers are counted for so many groups of stages, or for each of them alike, which is written out then.
bool has_number_for_each(RecomputedLayers& recompute, int64_t groups) {
  std::vector<RecomputedLayers::Counts>& counts = recompute.counts;
  if (counts.size() == 1) counts.resize(static_cast<size_t>(groups), counts[0]);
  return counts.empty() || counts.size() == static_cast<size_t>(groups);
}

/// Of two that take as long the lesser is taken: less is recomputed, gathered and cut.
auto simplicity(const Configuration& configuration) {
  return std::tuple(configuration.cuts, configuration.squeeze, configuration.recompute, configuration.zero,
                    configuration.interleave, configuration.order, configuration.sequence_parallel,
                    configuration.pipeline, configuration.tensor, configuration.deal);
}

/// What the bound of a candidate knows, each more than the one before.
enum class Known {
  sizes,   // how many ranks share what, for any micro-batch, interleaving and level of optimizer sharding
  layers,  // these as well: the layers are dealt out evenly
  stages,  // the layers of each stage
  excess,  // these as well: without recomputation they do not fit
  /// As `sizes` and `layers`, under cuts that take more memory than there is; those of the candidate are not made yet.
  squeezed_sizes,
  squeezed_layers,
};

/// A configuration whose lowering is known, with what no price of it is below.
struct Candidate {
  double bound = 0;
  Configuration configuration;
  Known known = Known::layers;
  bool operator<(const Candidate& other) const { return bound > other.bound; }  // the least first
};

/// A configuration that does not fit.
struct Refused {
  double memory = 0;  // bytes of its largest group, or less
  Configuration configuration;
};

/// The one that takes the least, of those that can be lowered.
std::optional<Configuration> least_of(std::vector<Refused> all, NetworkCosts& costs) {
  std::stable_sort(all.begin(), all.end(), [](const Refused& a, const Refused& b) { return a.memory < b.memory; });
  std::optional<Configuration> least;
  double least_memory = std::numeric_limits<double>::infinity();
  for (const Refused& refused : all) {
    if (refused.memory >= least_memory) break;
    try {
      const double whole = peak_of(costs.stages(refused.configuration).memory(refused.configuration.zero));
      if (whole >= least_memory) continue;
      least = refused.configuration;
      least_memory = whole;
    } catch (const InvalidArgument&) {  // nothing can be recomputed
    }
  }
  return least;
}

/// Why something could not be lowered; that of the simplest configuration says most.
struct Refusal {
  void keep(const Configuration& of, const char* reason) {
    const auto order = [](const Configuration& one) { return std::pair(one.tensor * one.context, simplicity(one)); };
    if (!text.empty() && order(of) >= order(configuration)) return;
    text = reason;
    configuration = of;
  }

  std::string text{};
  Configuration configuration{};
};

/// The best for each way to share the ranks: how many of them are data, tensor, ..
class BestOfShapes {
 public:
  void keep(const Configuration& configuration, const Price& price) {
    const auto [entry, fresh] = all_.try_emplace(shape_of(configuration), PricedConfiguration{configuration, price});
    if (!fresh && price.step_seconds < entry->second.price.step_seconds) entry->second = {configuration, price};
  }
  /// Of those that share them otherwise; infinite where none does.
  double seconds_of_second(const Configuration& best) const {
    const PricedConfiguration* found = second(best);
    return found == nullptr ? std::numeric_limits<double>::infinity() : found->price.step_seconds;
  }
  /// Null where none does.
  const PricedConfiguration* second(const Configuration& best) const {
    const PricedConfiguration* found = nullptr;
    for (const auto& [shape, priced] : all_) {
      if (shape == shape_of(best)) continue;
      if (found == nullptr || priced.price.step_seconds < found->price.step_seconds) found = &priced;
    }
    return found;
  }

 private:
  using Shape = std::tuple<int64_t, int64_t, int64_t, int64_t>;
  static Shape shape_of(const Configuration& configuration) {
    return {configuration.data, configuration.context, configuration.tensor, configuration.pipeline};
  }
  std::map<Shape, PricedConfiguration> all_;
};

/// Rows of a micro-batch.
std::vector<int64_t> micro_batch_sizes(const SearchRequest& request, const Configuration& configuration) {
  const int64_t rows = request.costs.batch() / configuration.data, least = request.costs.least_rows(configuration);
  std::vector<int64_t> sizes = allowed(request.pins.micro_batch, divisors(rows, rows));
  std::erase_if(sizes,
                [&](int64_t size) { return rows % size != 0 || size % least != 0 || rows / size > kMostMicroBatches; });
  if (request.any && sizes.size() > 1) sizes.resize(1);
  return sizes;
}

std::vector<Order> orders(const SearchRequest& request, const Configuration& configuration) {
  if (configuration.interleave > 1) return {Order::interleaved};
  if (configuration.pipeline == 1 || request.any || !request.pins.delays_weights)
    return {Order::one_forward_one_backward};
  return {Order::one_forward_one_backward, Order::zero_bubble};
}

std::vector<int64_t> levels(const SearchRequest& request, const Configuration& configuration) {
  if (configuration.data * configuration.context == 1) return {0};
  if (request.any) return {3};
  return {0, 1, 2, 3};
}

/// Whether nodes can be cut so that they take less memory, and may fit then: no cuts leave a rank with less than its
/// share of the states.
bool may_squeeze(const SearchRequest& request, const Configuration& configuration) {
  const bool is_searched = configuration.cuts == TensorCuts::searched;
  if (!is_searched || request.pins.squeeze || configuration.squeeze == kMaxSqueeze) return false;
  Configuration whole = configuration;
  whole.cuts = TensorCuts::blocks;
  whole.squeeze = 0;
  whole.tensor = 1;
  return request.costs.least_states(whole) <= request.memory_bytes * static_cast<double>(configuration.tensor);
}

int64_t next_squeeze(const SearchRequest& request, const Configuration& configuration) {
  return request.any ? kMaxSqueeze : configuration.squeeze + 1;
}

std::string nothing_left(const SearchRequest& request) {
  return fmt::format("[--pin] nothing is left to choose from, got {} ranks and {} rows, expected pins that divide them",
                     request.ranks, request.costs.batch());
}

class ConfigurationSearcher {
 public:
  explicit ConfigurationSearcher(const SearchRequest& request) : request_(request), costs_(request.costs) {}

  ConfigurationSearch run() {
    if (request_.pins.cuts == TensorCuts::searched) costs_.require_search();
    enumerate();
    if (queue_.empty() && refused_.empty())
      throw InvalidArgument(refusal_.text.empty() ? nothing_left(request_) : refusal_.text);
    while (!queue_.empty()) {
      const Candidate next = queue_.top();
      queue_.pop();
      if (next.bound > most_seconds() * (1 + kTie) || (request_.any && result_.best)) break;
      costs_.forget_many_stages();
      switch (next.known) {
        case Known::squeezed_sizes:
          if (can_lower(next.configuration)) enumerate_size(next.configuration);
          break;
        case Known::sizes: enumerate_rows(next.configuration); break;
        case Known::squeezed_layers:
          if (can_lower(next.configuration)) bound_again(next);
          break;
        case Known::layers: bound_again(next); break;
        case Known::stages: follow(next.configuration); break;
        case Known::excess: recompute(next.configuration); break;
      }
    }
    if (!result_.best) {
      const std::optional<Configuration> least = least_of(std::move(refused_), costs_);
      if (!least) throw InvalidArgument(refusal_.text);
      result_.least = {*least, costs_.price(*least)};
    } else {
      result_.lower_bound_seconds = result_.best->price.step_seconds;  // all others are above it
      if (const auto* second = shapes_.second(result_.best->configuration)) result_.runner_up = *second;
    }
    return std::move(result_);
  }

 private:
  /// No configuration above it is of interest.
  double most_seconds() const {
    if (!result_.best) return std::numeric_limits<double>::infinity();
    if (request_.runner_up) return shapes_.seconds_of_second(result_.best->configuration);
    return result_.best->price.step_seconds;
  }

  void enumerate() {
    const Pins& pins = request_.pins;
    for (int64_t tensor : allowed(pins.tensor, shares(request_.ranks, request_.ranks, 1))) {
      for (int64_t context : allowed(pins.context, {1})) {
        if (tensor * context > request_.ranks) continue;
        for (TensorCuts cuts : allowed(pins.cuts, {TensorCuts::blocks, TensorCuts::searched})) {
          const bool is_searched = cuts == TensorCuts::searched;
          if (is_searched && (tensor == 1 || context > 1 || !costs_.searches())) continue;
          const bool may_cut_sequence = tensor > 1 && !is_searched;
          for (bool is_cut : allowed(pins.sequence_parallel, {false, true})) {
            if (is_cut && !may_cut_sequence) continue;
            const int64_t squeeze = pins.squeeze.value_or(0);
            if (squeeze > 0 && !is_searched) continue;
            enumerate_sizes(
                {.context = context, .tensor = tensor, .cuts = cuts, .squeeze = squeeze, .sequence_parallel = is_cut});
          }
        }
      }
    }
  }

  void enumerate_sizes(Configuration configuration) {
    const Pins& pins = request_.pins;
    if (!can_lower(configuration)) return;
    const int64_t ranks = request_.ranks / configuration.tensor / configuration.context;
    for (int64_t pipeline : allowed(pins.pipeline, shares(ranks, costs_.layers(), costs_.repeated_layers()))) {
      for (int64_t data : allowed(pins.data, divisors(costs_.batch(), ranks / pipeline))) {
        if (data * pipeline > ranks || costs_.batch() % data != 0) continue;
        configuration.pipeline = pipeline;
        configuration.data = data;
        if (!request_.idle && configuration.ranks() != request_.ranks) continue;
        configuration.zero = allowed(pins.zero, levels(request_, configuration)).back();
        enumerate_size(configuration);
      }
    }
  }

  void enumerate_size(Configuration configuration) {
    const double states = costs_.least_states(configuration);
    const bool fits = states <= request_.memory_bytes;
    if (!fits) refuse_sizes(configuration, states);
    if (!fits && !may_squeeze(request_, configuration)) return;
    double least = std::numeric_limits<double>::infinity();
    for (const int64_t rows : micro_batch_sizes(request_, configuration)) {
      configuration.micro_batch = rows;
      least = std::min(least, coarse_bound(configuration));
    }
    if (!std::isfinite(least)) return;
    if (!fits) configuration.squeeze = next_squeeze(request_, configuration);
    queue_.push({least, configuration, fits ? Known::sizes : Known::squeezed_sizes});
  }

  void enumerate_rows(Configuration configuration) {
    const Pins& pins = request_.pins;
    configuration.recompute = pins.recompute.value_or(RecomputedLayers());
    if (!has_number_for_each(configuration.recompute, configuration.pipeline)) return;
    for (const int64_t rows : micro_batch_sizes(request_, configuration)) {
      configuration.micro_batch = rows;
      const int64_t dealt = request_.any ? 0 : costs_.repeated_layers();
      for (int64_t interleave : allowed(pins.interleave, interleaves(dealt, configuration.pipeline))) {
        if (interleave > 1 && configuration.pipeline == 1) continue;
        configuration.interleave = interleave;
        for (const Order order : allowed(pins.order, orders(request_, configuration))) {
          configuration.order = order;
          enumerate_levels(configuration);
        }
      }
    }
  }

  void enumerate_levels(Configuration configuration) {
    const double least = coarse_bound(configuration);
    if (configuration.pipeline > 1) configuration.deal = request_.pins.deal.value_or(Deal::even);
    for (int64_t zero : allowed(request_.pins.zero, levels(request_, configuration))) {
      configuration.zero = zero;
      if (costs_.least_states(configuration) > request_.memory_bytes) continue;  // the highest level may fit
      queue_.push({least, configuration, Known::layers});
    }
  }

  /// Not even the states fit at the highest level.
  void refuse_sizes(Configuration configuration, double states) {
    const std::vector<int64_t> rows = micro_batch_sizes(request_, configuration);
    if (rows.empty()) return;
    configuration.micro_batch = rows.front();
    if (request_.pins.order) configuration.order = *request_.pins.order;
    if (request_.pins.interleave) configuration.interleave = *request_.pins.interleave;
    if (request_.pins.deal && configuration.pipeline > 1) configuration.deal = *request_.pins.deal;
    for (const Recompute policy : {Recompute::none, Recompute::full}) {
      configuration.recompute = request_.pins.recompute.value_or(RecomputedLayers(policy));
      refused_.push_back({states, configuration});
    }
  }

  /// Whether the network can be cut so at all. What can without recomputation can with it.
  bool can_lower(Configuration configuration) {
    configuration.recompute = Recompute::none;
    configuration.micro_batch = costs_.least_rows(configuration);
    try {
      costs_.row_seconds(configuration);
      return true;
    } catch (const InvalidArgument& error) {
      refusal_.keep(configuration, error.what());
      return false;
    }
  }

  /// A micro-batch goes through all layers, one after the other, and no group of stages takes less than its share of
  /// these. Recomputation only adds to them, as much as is known of it.
  double coarse_bound(Configuration configuration) {
    if (!costs_.is_lowered(configuration)) configuration.recompute = Recompute::none;
    const double micro_batch = costs_.row_seconds(configuration) * static_cast<double>(configuration.micro_batch);
    const double rounds = static_cast<double>(micro_batches(configuration, costs_.batch()));
    return micro_batch * std::max(1.0, rounds / static_cast<double>(configuration.pipeline));
  }

  /// More may be known of its layers than when it was enumerated.
  void bound_again(const Candidate& candidate) {
    const double now = coarse_bound(candidate.configuration);
    if (now <= candidate.bound * (1 + kTie)) return bound(candidate.configuration);
    queue_.push({now, candidate.configuration, Known::layers});
  }

  void bound(const Configuration& configuration) {
    StagePrices* prices = stage_prices(configuration);
    if (prices == nullptr) return;
    balance(configuration, *prices);
    const double memory = prices->least_memory(configuration.zero);
    if (memory > request_.memory_bytes) return refuse(configuration, memory);
    queue_.push({prices->lower_bound(configuration.zero), configuration, Known::stages});
  }

  /// The same with layers dealt out so that the slowest stage takes less.
  void balance(Configuration configuration, const StagePrices& even) {
    if (request_.pins.deal || configuration.deal == Deal::balanced || configuration.pipeline == 1) return;
    if (configuration.recompute.is_counted() || even.slowest_stage() < kNearlyEven * even.average_stage()) return;
    configuration.deal = Deal::balanced;
    if (!costs_.stages(configuration).has_layers_of(even)) bound(configuration);
  }

  /// Its memory takes less time to find than its step.
  void follow(const Configuration& configuration) {
    StagePrices& prices = *stage_prices(configuration);
    const double memory = peak_of(prices.memory(configuration.zero));
    if (memory > request_.memory_bytes) return refuse(configuration, memory);
    Price price = costs_.price(configuration);
    if (request_.runner_up) shapes_.keep(configuration, price);
    if (result_.best) {
      const double best = result_.best->price.step_seconds;
      const bool ties = price.step_seconds <= best * (1 + kTie);
      const bool simpler = simplicity(configuration) < simplicity(result_.best->configuration);
      if (price.step_seconds >= best * (1 - kTie) && !(ties && simpler)) return;
    }
    result_.best = {configuration, std::move(price)};
  }

  /// What does not fit may do so when some of its layers are recomputed, which takes no less time: its bound holds.
  void refuse(const Configuration& configuration, double memory) {
    refused_.push_back({memory, configuration});
    if (request_.pins.recompute) return squeeze(configuration);
    if (configuration.recompute != Recompute::none) return;
    queue_.push({stage_prices(configuration)->lower_bound(configuration.zero), configuration, Known::excess});
  }

  /// The same under cuts that take less memory; where layers are dealt out otherwise these were tried for the even
  /// deal.
  void squeeze(Configuration configuration) {
    const bool was_tried = configuration.deal != Deal::even && !request_.pins.deal;
    if (was_tried || !may_squeeze(request_, configuration)) return;
    const double bound = stage_prices(configuration)->lower_bound(configuration.zero);
    configuration.squeeze = next_squeeze(request_, configuration);
    queue_.push({bound, configuration, Known::squeezed_layers});
  }

  /// As few layers as must be, and all of them: what a longer backward hides may make up for it where groups wait.
  void recompute(Configuration configuration) {
    const std::optional<Configuration> fitted = costs_.recomputed_to_fit(configuration, request_.memory_bytes);
    fitted ? bound(*fitted) : squeeze(configuration);
    for (const Recompute policy : {Recompute::selective, Recompute::full}) {
      configuration.recompute = policy;
      if (!fitted || *fitted != configuration) bound(configuration);
    }
  }

  /// None where the network cannot be lowered so.
  StagePrices* stage_prices(const Configuration& configuration) {
    try {
      return &costs_.stages(configuration);
    } catch (const InvalidArgument& error) {
      refusal_.keep(configuration, error.what());
      return nullptr;
    }
  }

  const SearchRequest& request_;
  NetworkCosts& costs_;
  std::priority_queue<Candidate> queue_;
  Refusal refusal_;
  std::vector<Refused> refused_;
  BestOfShapes shapes_;  // for the runner-up
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
    if (key == "squeeze") pins.squeeze = given.squeeze;
    if (key == "sequence_parallel") pins.sequence_parallel = given.sequence_parallel;
    if (key == "recompute") pins.recompute = given.recompute;
    if (key == "order") pins.order = given.order;
    if (key == "deal") pins.deal = given.deal;
  }
  return pins;
}

std::vector<KnownTemplate> known_templates() {
  return {
      {"data parallel", {.data = {}, .tensor = 1, .context = 1, .pipeline = 1, .zero = 0}},
      {"sharded data parallel", {.tensor = 1, .context = 1, .pipeline = 1, .zero = 3}},
      {"Megatron", {.context = 1, .zero = 1, .cuts = TensorCuts::blocks, .deal = Deal::even, .delays_weights = false}}};
}

ConfigurationSearch search_configurations(const SearchRequest& request) { return ConfigurationSearcher(request).run(); }

}  // namespace partita
