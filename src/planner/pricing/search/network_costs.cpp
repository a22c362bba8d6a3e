#include "planner/pricing/search/network_costs.h"

#include <algorithm>

#include "planner/pricing/step/simulate_step.h"

namespace partita {
namespace {

constexpr size_t kMaxStagesKept = 4096, kMaxLayoutsKept = 1024;  // sizes of the caches during a search

}  // namespace

int64_t NetworkCosts::layers() const {
  size_t count = 0;
  for (const FoldedUnit& unit : folded().units) count += unit.count;
  return static_cast<int64_t>(count);
}

int64_t NetworkCosts::repeated_layers() const {
  size_t count = 0;
  for (const FoldedUnit& unit : folded().units) count += unit.is_copy ? unit.count : 0;
  return static_cast<int64_t>(count);
}

double NetworkCosts::step_flops() {
  if (step_flops_ > 0) return step_flops_;
  const LayerCosts& costs = lowering_.layer_costs(LoweringKey{}, 1, batch());
  for (size_t u = 0; u < costs.units.size(); ++u) {
    const UnitCosts& unit = costs.units[u];
    step_flops_ += static_cast<double>(folded().units[u].count) * (unit.forward.flops + unit.backward.flops);
  }
  return step_flops_;
}

double NetworkCosts::min_states(const Configuration& configuration) {
  LoweringKey key = lowering_.key_of(configuration);
  key.recompute = Recompute::none;
  auto cached = states_.find(key);
  if (cached == states_.end()) {
    const LayerCosts& costs = lowering_.layer_costs(key, 1, lowering_.lowered_rows(key));
    double parameters = 0, optimizer = 0;
    for (size_t u = 0; u < costs.units.size(); ++u) {
      parameters += static_cast<double>(folded().units[u].count) * costs.units[u].parameters;
      optimizer += static_cast<double>(folded().units[u].count) * costs.units[u].optimizer;
    }
    cached = states_.emplace(key, std::pair(parameters, optimizer)).first;
  }
  const auto [parameters, optimizer] = cached->second;
  const Precision& precision = lowering_.options().precision;
  const auto ranks = static_cast<double>(configuration.data * configuration.context);
  const auto shared = [&](int64_t level) { return configuration.zero >= level ? ranks : 1; };
  const double all = parameters * precision.parameter() / shared(3) +
                     (optimizer * precision.state + parameters * precision.shared_master()) / shared(1);
  return all / static_cast<double>(configuration.pipeline);
}

void NetworkCosts::evict_stages() {
  if (stages_.size() > kMaxStagesKept) stages_.clear();
  if (layouts_.size() > kMaxLayoutsKept) layouts_.clear();
}

const RowSeconds& RowCosts::of(int64_t rows) {
  const auto cached = cache_.find(rows);
  if (cached != cache_.end()) return cached->second;
  const LayerCosts& costs = lowering_.layer_costs(key_, groups_, rows);
  RowSeconds seconds;
  for (size_t u = 0; u < costs.units.size(); ++u) {
    const UnitCosts& unit = costs.units[u];
    const auto count = static_cast<double>(lowering_.folded().units[u].count);
    seconds.all += count * unit.seconds();
    seconds.weights += count * unit.backward_weights;
    if (unit.seconds() > 0) {
      seconds.forward_share = std::min(seconds.forward_share, unit.forward.seconds() / unit.seconds());
    }
  }
  seconds.all /= static_cast<double>(rows);
  seconds.weights /= static_cast<double>(rows);
  return cache_.emplace(rows, seconds).first->second;
}

LayerSeconds& RowCosts::layers(int64_t rows) {
  const auto cached = layers_.find(rows);
  if (cached != layers_.end()) return cached->second;
  return layers_.emplace(rows, LayerSeconds(lowering_.folded(), lowering_.layer_costs(key_, groups_, rows)))
      .first->second;
}

RowCosts& NetworkCosts::row_costs(const Configuration& configuration) {
  const std::pair of(lowering_.key_of(configuration), lowering_.groups_of(configuration));
  return row_costs_.try_emplace(of, lowering_, of.first, of.second).first->second;
}

const LayerMessages& NetworkCosts::layer_messages(const Configuration& configuration) {
  LoweringKey key = lowering_.key_of(configuration);
  key.recompute = Recompute::none;
  const std::tuple of(key, configuration.data, configuration.pipeline);
  if (const auto cached = layer_messages_.find(of); cached != layer_messages_.end()) return cached->second;
  return layer_messages_.emplace(of, find_layer_messages(configuration, key)).first->second;
}

LayerMessages NetworkCosts::find_layer_messages(const Configuration& configuration, const LoweringKey& key) {
  if (configuration.data * configuration.context == 1) return {};
  const LayerCosts& costs = lowering_.layer_costs(key, 1, lowering_.lowered_rows(key));
  const Precision& precision = lowering_.options().precision;
  const Places::Ranks ranks{configuration.data, configuration.context, configuration.tensor};
  Places& places = lowering_.part(key).places;
  std::vector<const GroupPlace*> all;
  for (int64_t group = 0; group < places.fewest_alike(configuration.pipeline, ranks.count()); ++group)
    all.push_back(&places.batch(ranks, group * ranks.count()));
  // A layer may be of any group, and another place may be the fastest for small messages than for large ones.
  const DType summed = summed_dtype(precision.sent_gradient);
  const auto sum = [&](Collective kind, double element) {
    double seconds = 0;
    for (size_t u = 0; u < costs.units.size(); ++u) {
      double fastest = std::numeric_limits<double>::infinity();
      for (const GroupPlace* place : all)
        fastest = std::min(fastest, places.seconds(kind, costs.units[u].parameters * element, *place, summed));
      seconds += static_cast<double>(folded().units[u].count) * fastest;
    }
    return seconds;
  };
  return {.all_reduce = sum(Collective::all_reduce, precision.sent_gradient),
          .reduce_scatter = sum(Collective::reduce_scatter, precision.sent_gradient),
          .all_gather = sum(Collective::all_gather, precision.weight)};
}

int64_t NetworkCosts::alike_links(Configuration configuration) {
  configuration.recompute = Recompute::none;
  return is_lowered(configuration) ? lowering_.alike(lowering_.key_of(configuration)).links : configuration.links;
}

StagePrices& NetworkCosts::stages(Configuration configuration) {
  configuration.zero = 0;
  const auto found = stages_.find(configuration);
  if (found != stages_.end()) return *found->second;
  BusyRanks& part = lowering_.part(lowering_.key_of(configuration));
  auto made = std::make_unique<StagePrices>(PriceRequest{.folded = folded(),
                                                         .recomputable = lowering_.recomputable(),
                                                         .costs = costs_of(configuration),
                                                         .configuration = configuration,
                                                         .batch = batch(),
                                                         .step_flops = step_flops(),
                                                         .cluster = part.cluster,
                                                         .device = part.device,
                                                         .places = part.places,
                                                         .orders = orders_,
                                                         .kept_micro_batches = kept_micro_batches_,
                                                         .precision = lowering_.options().precision,
                                                         .layout = layout(configuration)});
  return *stages_.emplace(configuration, std::move(made)).first->second;
}

CostsOfPolicy NetworkCosts::costs_of(const Configuration& configuration) {
  return [this, key = lowering_.key_of(configuration), groups = lowering_.groups_of(configuration),
          rows = configuration.micro_batch](Recompute policy) mutable -> const LayerCosts& {
    key.recompute = policy;
    return lowering_.layer_costs(key, groups, rows);
  };
}

/// Returns the layout of a configuration, which others with the same stages share; null if it counts the layers that it
/// recomputes, as few others have the same counts.
std::shared_ptr<const StageLayout> NetworkCosts::layout(const Configuration& configuration) {
  if (configuration.recompute.is_counted()) return nullptr;
  std::shared_ptr<const StageLayout>& cached =
      layouts_[{lowering_.key_of(configuration), lowering_.groups_of(configuration), configuration.micro_batch,
                configuration.pipeline, configuration.interleave, configuration.layer_split}];
  if (!cached)
    cached =
        std::make_shared<const StageLayout>(folded(), lowering_.recomputable(), configuration, costs_of(configuration));
  return cached;
}

std::optional<Configuration> NetworkCosts::recomputed_to_fit(const Configuration& configuration, double memory) {
  const std::pair key(configuration, memory);
  if (const auto cached = fitted_.find(key); cached != fitted_.end()) return cached->second;
  return fitted_.emplace(key, fit(configuration, memory)).first->second;
}

std::optional<Configuration> NetworkCosts::fit(Configuration configuration, double memory) {
  constexpr int kRounds = 4;  // zero_bubble orders depend on times, so more may be in flight than assumed
  configuration.recompute = {};
  StagePrices& kept = stages(configuration);
  for (double limit = memory, round = 0; round < kRounds; ++round) {
    const std::optional<RecomputedLayers> recompute = kept.min_recomputation(configuration.zero, limit);
    if (!recompute) return std::nullopt;
    configuration.recompute = *recompute;
    const double bytes = peak_of(stages(configuration).memory(configuration.zero));
    if (bytes <= memory) return configuration;
    limit -= bytes - memory;
  }
  return std::nullopt;
}

Price NetworkCosts::price(const Configuration& configuration) {
  const Configuration whole = completed(configuration, configuration.ranks(), batch());
  if (const auto cached = prices_.find(whole); cached != prices_.end()) return cached->second;
  return prices_.emplace(whole, price_of(stages(whole), whole.zero)).first->second;
}

}  // namespace partita
