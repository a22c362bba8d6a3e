#include "planner/pricing/step/step_layers.h"

#include <algorithm>

namespace partita {

StepLayers::StepLayers(const StagePrices& prices, int64_t zero)
    : prices_(prices), zero_(zero), waits_for_reductions_(prices.seconds().waits_for_micro_batches(zero)) {
  for (int s = 0; s < prices_.stages(); ++s) {
    std::vector<StepLayer>& layers = layers_.emplace_back();
    const StageLayers& stage = prices_.costs().layers_of_stage(s);
    for (size_t u = 0; u < stage.size(); ++u) {
      for (const Recompute policy : kPoliciesInOrder) {
        const size_t copies = stage[u].of(policy);
        if (copies > 0) layers.insert(layers.end(), copies, layer_of({u, policy}, prices_.group_of(s)));
      }
    }
  }
}

StepLayer StepLayers::layer_of(const LayerOfStage& of, int group) const {
  const auto rounds = static_cast<double>(prices_.costs().micro_batches());
  const UnitCosts& costs = prices_.costs().costs(of.policy).units[of.unit];
  StepLayer layer{.of = of, .late = costs.late};
  layer.bytes = costs.parameters * prices_.request().precision.gradient;
  for (const auto& [kind, seconds] : prices_.seconds().gradients(of.unit, group, zero_)) {
    if (kind != Collective::all_gather) {
      layer.reduction = kind;
      layer.reduce = zero_ >= 2 ? seconds / rounds : seconds;
    } else if (zero_ == 3) {
      layer.gather = seconds / (2 * rounds);
    } else {
      layer.gather_updated = seconds;
    }
  }
  return layer;
}

/// Returns the seconds per step of a group whose layers take `seconds(layer)` in each micro-batch.
template <class Seconds>
double StepLayers::sum(int group, const Seconds& seconds) const {
  double sum = 0;
  for (int s = group; s < prices_.stages(); s += static_cast<int>(prices_.request().configuration.pipeline)) {
    for (const StepLayer& layer : of_stage(s)) sum += seconds(layer);
  }
  return sum * static_cast<double>(prices_.costs().micro_batches());
}

double StepLayers::sending(int group) const {
  return sum(group, [&](const StepLayer& layer) {
    return 2 * layer.gather + (zero_ >= 2 && !waits_for_reductions_ ? layer.reduce : 0);
  });
}

/// The gather for the first layer of a section runs along with the section before it.
double StepLayers::gathering_within(int group) const {
  double sum = 0;
  for (int s = group; s < prices_.stages(); s += static_cast<int>(prices_.request().configuration.pipeline)) {
    double all = 0;
    for (const StepLayer& layer : of_stage(s)) all += 2 * layer.gather;
    sum += all * (1 - 1 / static_cast<double>(std::max<size_t>(1, of_stage(s).size())));
  }
  return sum * static_cast<double>(prices_.costs().micro_batches());
}

double StepLayers::reducing(int group) const {
  return waits_for_reductions_ ? sum(group, [](const StepLayer& layer) { return layer.reduce; }) : 0;
}

}  // namespace partita
