#include "planner/pricing/network_costs.h"

#include "planner/pricing/simulate_step.h"

namespace partita {
namespace {

constexpr size_t kMaxStagesKept = 4096;  // size of the cache during a search

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
  const LayerCosts& costs = lowering_.layer_costs(key, 1, lowering_.lowered_rows(key));
  double parameters = 0, optimizer = 0;
  for (size_t u = 0; u < costs.units.size(); ++u) {
    parameters += static_cast<double>(folded().units[u].count) * costs.units[u].parameters;
    optimizer += static_cast<double>(folded().units[u].count) * costs.units[u].optimizer;
  }
  const Precision& precision = lowering_.options().precision;
  const auto ranks = static_cast<double>(configuration.data * configuration.context);
  const auto shared = [&](int64_t level) { return configuration.zero >= level ? ranks : 1; };
  const double all = parameters * precision.parameter() / shared(3) +
                     (optimizer * precision.state + parameters * precision.shared_master()) / shared(1);
  return all / static_cast<double>(configuration.pipeline);
}

void NetworkCosts::evict_stages() {
  if (stages_.size() > kMaxStagesKept) stages_.clear();
}

RowSeconds NetworkCosts::row_seconds(const Configuration& configuration) {
  const LayerCosts& costs = lowering_.layer_costs(lowering_.key_of(configuration), lowering_.groups_of(configuration),
                                                  configuration.micro_batch);
  RowSeconds seconds;
  for (size_t u = 0; u < costs.units.size(); ++u) {
    const UnitCosts& unit = costs.units[u];
    const auto count = static_cast<double>(folded().units[u].count);
    seconds.all += count * (unit.forward.seconds() + unit.backward.seconds());
    seconds.weights += count * unit.backward_weights;
  }
  seconds.all /= static_cast<double>(configuration.micro_batch);
  seconds.weights /= static_cast<double>(configuration.micro_batch);
  return seconds;
}

StagePrices& NetworkCosts::stages(Configuration configuration) {
  configuration.zero = 0;
  const auto found = stages_.find(configuration);
  if (found != stages_.end()) return *found->second;
  const auto costs = [this, key = lowering_.key_of(configuration), groups = lowering_.groups_of(configuration),
                      rows = configuration.micro_batch](Recompute policy) mutable -> const LayerCosts& {
    key.recompute = policy;
    return lowering_.layer_costs(key, groups, rows);
  };
  BusyRanks& part = lowering_.part(lowering_.key_of(configuration));
  auto made = std::make_unique<StagePrices>(PriceRequest{.folded = folded(),
                                                         .recomputable = lowering_.recomputable(),
                                                         .costs = costs,
                                                         .configuration = configuration,
                                                         .batch = batch(),
                                                         .step_flops = step_flops(),
                                                         .cluster = part.cluster,
                                                         .device = part.device,
                                                         .places = part.places,
                                                         .orders = orders_,
                                                         .kept_micro_batches = kept_micro_batches_,
                                                         .precision = lowering_.options().precision});
  return *stages_.emplace(configuration, std::move(made)).first->second;
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
