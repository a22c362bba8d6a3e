#include "planner/pricing/search/search_configurations.h"

#include <algorithm>
#include <queue>
#include <tuple>

#include "planner/pricing/search/searched_space.h"

namespace partita {
namespace {

constexpr double kTie = 1e-9;  // relative difference of prices that is rounding

/// The sort key of configurations with equal times. The lesser is preferred: it recomputes, gathers and cuts less.
auto simplicity(const Configuration& configuration) {
  return std::tuple(configuration.cuts, configuration.squeeze, configuration.links, configuration.recompute,
                    configuration.zero, configuration.interleave, configuration.order, configuration.sequence_parallel,
                    configuration.pipeline, configuration.tensor, configuration.layer_split);
}

/// The fastest configurations, whose times differ by rounding alone. The best of them is the simplest, in whichever
/// order they were found.
class FastestConfigurations {
 public:
  void keep(const Configuration& configuration, const Price& price) {
    const double seconds = price.step_seconds;
    if (seconds > min_seconds_ * (1 + kTie)) return;
    for (const PricedConfiguration& other : all_) {
      if (other.price.step_seconds <= seconds && !precedes(configuration, other.configuration)) return;
    }
    min_seconds_ = std::min(min_seconds_, seconds);
    std::erase_if(all_, [&](const PricedConfiguration& other) {
      const double others = other.price.step_seconds;
      return others > min_seconds_ * (1 + kTie) || (others >= seconds && precedes(configuration, other.configuration));
    });
    all_.push_back({configuration, price});
  }
  /// Seconds of the fastest; infinite if there is none.
  double seconds() const { return min_seconds_; }
  /// The simplest; null if there is none.
  const PricedConfiguration* best() const {
    const auto found = std::ranges::min_element(
        all_, [](const auto& one, const auto& other) { return precedes(one.configuration, other.configuration); });
    return found == all_.end() ? nullptr : &*found;
  }

 private:
  static bool precedes(const Configuration& one, const Configuration& other) {
    return std::pair(simplicity(one), one) < std::pair(simplicity(other), other);
  }

  double min_seconds_ = std::numeric_limits<double>::infinity();
  std::vector<PricedConfiguration> all_;  // none is both slower and less simple than another
};

/// The values that the bound of a candidate takes into account; each includes the previous ones.
enum class BoundBasis {
  sizes,   // data, context, tensor and pipeline
  layers,  // micro-batch, interleaving, order and level; for any split of the layers
  layout,  // the layers of each stage
  stages,  // the placements of the stages, and all of their messages
  excess,  // the need to recompute: the configuration does not fit without it
};

/// A configuration that can be lowered, with a lower bound of its price.
struct Candidate {
  double bound = 0;
  Configuration configuration;
  BoundBasis basis = BoundBasis::layers;
  bool operator<(const Candidate& other) const { return bound > other.bound; }  // smallest bound first
};

/// A configuration that does not fit.
struct Refused {
  double memory = 0;  // lower bound of the bytes of its largest group
  Configuration configuration;
};

/// The configuration that needs the least memory, among those that can be lowered; none if there are none.
std::optional<Configuration> min_of(std::vector<Refused> all, NetworkCosts& costs) {
  std::ranges::stable_sort(all, [](const Refused& a, const Refused& b) { return a.memory < b.memory; });
  std::optional<Configuration> least;
  double min_memory = std::numeric_limits<double>::infinity();
  for (const Refused& refused : all) {
    if (refused.memory >= min_memory) break;
    try {
      const double whole = peak_of(costs.stages(refused.configuration).memory(refused.configuration.zero));
      if (whole >= min_memory) continue;
      least = refused.configuration;
      min_memory = whole;
    } catch (const InvalidArgument&) {  // nothing can be recomputed
    }
  }
  return least;
}

/// The reason why a configuration could not be lowered. It keeps that of the simplest one, which is the most helpful.
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

/// The best configuration of each shape: data, context, tensor and pipeline.
class BestOfShapes {
 public:
  void keep(const Configuration& configuration, const Price& price) {
    const auto [entry, fresh] = all_.try_emplace(shape_of(configuration), PricedConfiguration{configuration, price});
    if (!fresh && price.step_seconds < entry->second.price.step_seconds) entry->second = {configuration, price};
  }
  /// Seconds of the best configuration with another shape than `best`; infinite if there is none.
  double seconds_of_second(const Configuration& best) const {
    const PricedConfiguration* found = second(best);
    return found == nullptr ? std::numeric_limits<double>::infinity() : found->price.step_seconds;
  }
  /// The best configuration that differs from `best` in data, context, tensor or pipeline; null if there is none.
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

/// Whether squeezed cuts may fit. No cuts leave a rank with less than the states of the uncut network divided by
/// `tensor`. True if these are unknown, since the network cannot be lowered without cuts.
bool may_be_squeezed(const SearchRequest& request, const Configuration& configuration) {
  Configuration whole = configuration;
  whole.cuts = TensorCuts::blocks;
  whole.squeeze = whole.links = 0;
  whole.tensor = 1;
  try {
    return request.costs.min_states(whole) <= request.memory_bytes * static_cast<double>(configuration.tensor);
  } catch (const InvalidArgument&) {  // only more ranks divide the batch
    return true;
  }
}

std::string nothing_left(const SearchRequest& request) {
  return fmt::format("[--pin] nothing is left to choose from, got {} ranks and {} rows, expected pins that divide them",
                     request.ranks, request.costs.batch());
}

class ConfigurationSearcher {
 public:
  explicit ConfigurationSearcher(const SearchRequest& request)
      : request_(request), costs_(request.costs), space_(request) {}

  ConfigurationSearch run() {
    if (request_.pins.cuts == TensorCuts::searched) costs_.lowering().require_search();
    search_all();
    if (!fastest_.best() && refused_.empty())
      throw InvalidArgument(refusal_.text.empty() ? nothing_left(request_) : refusal_.text);
    if (!fastest_.best() && !request_.pins.squeeze && (request_.any || fits_squeezed())) {
      squeezes_ = true;
      search_all();
    }
    if (const PricedConfiguration* best = fastest_.best()) {
      result_.best = *best;
      result_.lower_bound_seconds = fastest_.seconds();  // all others are bounded by it
      if (const auto* second = shapes_.second(best->configuration)) result_.runner_up = *second;
    } else {
      const std::optional<Configuration> least = min_of(std::move(refused_), costs_);
      if (!least) throw InvalidArgument(refusal_.text);
      result_.least = {*least, costs_.price(*least)};
    }
    result_.searched = space_.text(squeezes_);
    return std::move(result_);
  }

 private:
  /// Whether anything may fit under squeezed cuts. Tries only the few configurations that need the least memory, and
  /// keeps the least of them as a refused one. True also if none of these can be lowered.
  bool fits_squeezed() {
    SearchRequest few = request_;
    few.any = true;
    few.runner_up = false;
    try {
      const ConfigurationSearch search = search_configurations(few);
      if (search.best) return true;
      refused_.push_back({search.least->price.peak_memory(), search.least->configuration});
      return false;
    } catch (const InvalidArgument&) {  // none of these can be lowered, but others may be
      return true;
    }
  }

  void search_all() {
    enumerate();
    while (!queue_.empty()) {
      const Candidate next = queue_.top();
      queue_.pop();
      if (next.bound > max_seconds() * (1 + kTie) || (request_.any && fastest_.best())) {
        queue_ = {};
        return;
      }
      costs_.evict_stages();
      switch (next.basis) {
        case BoundBasis::sizes: enumerate_rows(next.configuration); break;
        case BoundBasis::layers: update_bound(next); break;
        case BoundBasis::layout: bound(next.configuration); break;
        case BoundBasis::stages: price_and_keep(next.configuration); break;
        case BoundBasis::excess: recompute(next.configuration); break;
      }
    }
  }

  /// Seconds above which no configuration is of interest: those of the best one or, if a runner-up is wanted, of the
  /// best with another shape than that. Infinite as long as there is none.
  double max_seconds() const {
    const bool wants_second = request_.runner_up && fastest_.best();
    return wants_second ? shapes_.seconds_of_second(fastest_.best()->configuration) : fastest_.seconds();
  }

  void enumerate() {
    Configuration configuration;
    for (const int64_t tensor : space_.tensors()) {
      configuration.tensor = tensor;
      for (const int64_t context : space_.contexts()) {
        configuration.context = context;
        if (tensor * context > request_.ranks) continue;
        for (const TensorCuts cuts : space_.cuts(configuration)) {
          configuration.cuts = cuts;
          for (const int64_t squeeze : squeezes(configuration)) {
            configuration.squeeze = squeeze;
            enumerate_cuts(configuration);
          }
        }
      }
    }
  }

  /// Returns the values of `squeeze` in this pass: 0 or the pinned one in the first, kMaxSqueeze down to 1 in the
  /// second (kMaxSqueeze alone if any fitting configuration will do). The second pass skips cuts that are not searched,
  /// since none of them fit.
  std::vector<int64_t> squeezes(const Configuration& configuration) const {
    const bool is_searched = configuration.cuts == TensorCuts::searched;
    if (!squeezes_) return {is_searched ? request_.pins.squeeze.value_or(0) : 0};
    if (!is_searched) return {};
    std::vector<int64_t> result{kMaxSqueeze};
    for (int64_t less = kMaxSqueeze - 1; less > 0 && !request_.any; --less) result.push_back(less);
    return result;
  }

  void enumerate_cuts(Configuration configuration) {
    for (const int64_t links : space_.links(configuration)) {
      configuration.links = links;
      for (const bool is_cut : space_.sequence_parallel(configuration)) {
        configuration.sequence_parallel = is_cut;
        enumerate_sizes(configuration);
      }
    }
  }

  void enumerate_sizes(const Configuration& configuration) {
    const std::vector<Configuration> all = sizes(configuration);
    if (all.empty() || !can_lower(configuration) || space_.standing_links(configuration) != configuration.links) return;
    for (const Configuration& one : all) enumerate_size(one);
  }

  /// Returns the configuration with each pair of values of pipeline and data, at the highest level of optimizer
  /// sharding in the space; for squeezed cuts only those that may fit.
  std::vector<Configuration> sizes(Configuration configuration) const {
    std::vector<Configuration> result;
    for (const int64_t pipeline : space_.pipelines(configuration)) {
      configuration.pipeline = pipeline;
      for (const int64_t data : space_.data(configuration)) {
        configuration.data = data;
        configuration.zero = space_.levels(configuration).back();
        if (!squeezes_ || may_be_squeezed(request_, configuration)) result.push_back(configuration);
      }
    }
    return result;
  }

  void enumerate_size(const Configuration& configuration) {
    const double states = costs_.min_states(configuration);
    if (states > request_.memory_bytes) return refuse_sizes(configuration, states);
    const double least = space_.bound_of_sizes(configuration);
    if (std::isfinite(least)) queue_.push({least, configuration, BoundBasis::sizes});
  }

  void enumerate_rows(Configuration configuration) {
    configuration.recompute = request_.pins.recompute.value_or(RecomputedLayers());
    if (!counts_each_group(configuration.recompute, configuration.pipeline)) return;
    configuration.layer_split = space_.layer_splits(configuration).front();  // `assign` adds the others
    const std::vector<int64_t> levels = fitting_levels(configuration);
    for (const int64_t rows : space_.micro_batches(configuration)) {
      configuration.micro_batch = rows;
      for (const int64_t interleave : space_.interleaves(configuration)) {
        configuration.interleave = interleave;
        for (const Order order : space_.orders(configuration)) {
          configuration.order = order;
          for (const int64_t zero : levels) {
            configuration.zero = zero;
            const double least = space_.bound_of_layers(configuration);
            if (least <= max_seconds() * (1 + kTie)) queue_.push({least, configuration, BoundBasis::layers});
          }
        }
      }
    }
  }

  /// Returns the levels of optimizer sharding at which the states may fit.
  std::vector<int64_t> fitting_levels(Configuration configuration) const {
    std::vector<int64_t> levels = space_.levels(configuration);
    std::erase_if(levels, [&](int64_t zero) {
      configuration.zero = zero;
      return costs_.min_states(configuration) > request_.memory_bytes;
    });
    return levels;
  }

  /// Records a configuration, whose states take `states` bytes and do not fit even at the highest level, as refused:
  /// without and with full recomputation, or with the pinned one. Does nothing if no micro-batch is possible.
  void refuse_sizes(Configuration configuration, double states) {
    const std::vector<int64_t> rows = space_.micro_batches(configuration);
    if (rows.empty()) return;
    configuration.micro_batch = rows.front();
    if (request_.pins.order) configuration.order = *request_.pins.order;
    if (request_.pins.interleave) configuration.interleave = *request_.pins.interleave;
    if (request_.pins.layer_split && configuration.pipeline > 1) configuration.layer_split = *request_.pins.layer_split;
    for (const Recompute policy : {Recompute::none, Recompute::full}) {
      configuration.recompute = request_.pins.recompute.value_or(RecomputedLayers(policy));
      refused_.push_back({states, configuration});
    }
  }

  /// Whether the network can be cut so; keeps the reason if not. Recomputation does not affect this.
  bool can_lower(Configuration configuration) {
    configuration.recompute = Recompute::none;
    configuration.micro_batch = costs_.min_rows(configuration);
    try {
      costs_.row_costs(configuration).of(configuration.micro_batch);
      return true;
    } catch (const InvalidArgument& error) {
      refusal_.keep(configuration, error.what());
      return false;
    }
  }

  /// Computes the bound of a candidate again, since more of its layers may be lowered by now. Queues the candidate
  /// again if the bound rose, else passes it to `assign`.
  void update_bound(const Candidate& candidate) {
    const double now = space_.bound_of_layers(candidate.configuration);
    if (now <= candidate.bound * (1 + kTie)) return assign(candidate.configuration, candidate.bound);
    queue_.push({now, candidate.configuration, BoundBasis::layers});
  }

  /// Queues the configuration by a lower bound of the seconds of its step, which is at least `least`. Queues a second
  /// one with balanced layers, too, if these differ, unless the pins fix the layer split. Skips what cannot be lowered.
  void assign(Configuration configuration, double least) {
    const bool is_even = configuration.layer_split == LayerSplit::even && configuration.pipeline > 1 &&
                         !configuration.recompute.is_counted();
    try {
      queue_.push({std::max(least, space_.bound_of_layout(configuration)), configuration, BoundBasis::layout});
      if (request_.pins.layer_split || !is_even || !space_.differs_if_balanced(configuration)) return;
      configuration.layer_split = LayerSplit::balanced;
      queue_.push({std::max(least, space_.bound_of_layout(configuration)), configuration, BoundBasis::layout});
    } catch (const InvalidArgument& error) {
      refusal_.keep(configuration, error.what());
    }
  }

  /// Queues the configuration by a lower bound of the seconds of its step. Refuses (`refuse`) what exceeds the memory,
  /// and skips what cannot be lowered.
  void bound(const Configuration& configuration) {
    StagePrices* prices = stage_prices(configuration);
    if (prices == nullptr) return;
    const double memory = prices->min_memory(configuration.zero);
    if (memory > request_.memory_bytes) return refuse(configuration, memory);
    queue_.push({prices->lower_bound(configuration.zero), configuration, BoundBasis::stages});
  }

  /// Prices a configuration and keeps it if it is among the fastest. With a runner-up, also keeps it if it is the best
  /// of its data, context, tensor and pipeline. Refuses it if its memory, checked first since that is faster, does not
  /// fit. Throws InvalidArgument if the order of the pipeline is too long.
  void price_and_keep(const Configuration& configuration) {
    StagePrices& prices = *stage_prices(configuration);
    const double memory = peak_of(prices.memory(configuration.zero));
    if (memory > request_.memory_bytes) return refuse(configuration, memory);
    const Price price = costs_.price(configuration);
    if (request_.runner_up) shapes_.keep(configuration, price);
    fastest_.keep(configuration, price);
  }

  /// Refuses a configuration that does not fit, and queues it for recomputation unless that is pinned or the
  /// configuration already recomputes. Since recomputation never takes less time, its bound holds.
  void refuse(const Configuration& configuration, double memory) {
    refused_.push_back({memory, configuration});
    if (request_.pins.recompute || configuration.recompute != Recompute::none) return;
    queue_.push({space_.bound_of_excess(configuration), configuration, BoundBasis::excess});
  }

  /// Passes the configuration, and those that it stands for, to `bound` with as few recomputed layers as they need to
  /// fit, if they can, and with all layers recomputed under each policy. The latter take longer but may win: a longer
  /// backward may hide more communication, which can outweigh its own time if groups wait for one another. Throws
  /// InvalidArgument if the order of the pipeline is too long.
  void recompute(Configuration configuration) {
    const int64_t cuts = configuration.links;
    for (const int64_t links : space_.links(configuration)) {
      configuration.links = links;
      if (space_.standing_links(configuration) != cuts) continue;
      configuration.recompute = Recompute::none;
      const std::optional<Configuration> fitted = costs_.recomputed_to_fit(configuration, request_.memory_bytes);
      if (fitted) bound(*fitted);
      for (const Recompute policy : {Recompute::selective, Recompute::full}) {
        configuration.recompute = policy;
        if (!fitted || *fitted != configuration) assign(configuration, 0);
      }
    }
  }

  /// Returns the stages of a configuration; null if the network cannot be lowered so, whose reason is kept.
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
  const SearchedSpace space_;
  bool squeezes_ = false;  // whether this is the second pass, with squeezed cuts
  std::priority_queue<Candidate> queue_;
  Refusal refusal_;
  std::vector<Refused> refused_;
  FastestConfigurations fastest_;
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
    if (key == "links") pins.links = given.links;
    if (key == "sequence_parallel") pins.sequence_parallel = given.sequence_parallel;
    if (key == "recompute") pins.recompute = given.recompute;
    if (key == "order") pins.order = given.order;
    if (key == "deal") pins.layer_split = given.layer_split;
  }
  return pins;
}

std::vector<KnownTemplate> known_templates() {
  return {{"data parallel", {.data = {}, .tensor = 1, .context = 1, .pipeline = 1, .zero = 0}},
          {"sharded data parallel", {.tensor = 1, .context = 1, .pipeline = 1, .zero = 3}},
          {"Megatron",
           {.context = 1,
            .zero = 1,
            .cuts = TensorCuts::blocks,
            .layer_split = LayerSplit::even,
            .delays_weights = false}}};
}

ConfigurationSearch search_configurations(const SearchRequest& request) { return ConfigurationSearcher(request).run(); }

}  // namespace partita
