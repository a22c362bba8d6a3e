#include "planner/pricing/step/stage_costs.h"

#include <utility>

namespace partita {

StageCosts::StageCosts(PriceRequest request)
    : request_(std::move(request)),
      configuration_(request_.configuration),
      micro_batches_(partita::micro_batches(configuration_, request_.batch)),
      ranks_{configuration_.data, configuration_.context, configuration_.tensor},
      layout_(request_.layout ? request_.layout
                              : std::make_shared<const StageLayout>(
                                    request_.folded, request_.recomputable, configuration_,
                                    [this](Recompute policy) -> const LayerCosts& { return costs(policy); })) {}

const LayerCosts& StageCosts::costs(Recompute policy) const {
  const LayerCosts*& cached = costs_[static_cast<size_t>(policy)];
  if (cached == nullptr) cached = &request_.costs(policy);
  return *cached;
}

double StageCosts::kept_by(const StageLayers& layers) const {
  double bytes = 0;
  for (size_t u = 0; u < layers.size(); ++u) {
    for (const Recompute policy : kPoliciesInOrder) {
      const size_t copies = layers[u].of(policy);
      if (copies > 0) bytes += static_cast<double>(copies) * costs(policy).units[u].kept;
    }
  }
  return bytes;
}

UnitCosts StageCosts::single_costs(int64_t stage) const {
  const std::vector<UnitCosts>& units = costs().units;
  UnitCosts sum;
  for (size_t u = 0; u < units.size(); ++u) {
    if (layers_of_stage(stage)[u].count() == 0 || request_.folded.units[u].is_copy) continue;
    sum.add(units[u]);
    sum.kept += units[u].handed - (u + 1 < units.size() ? units[u + 1].handed : 0);
  }
  return sum;
}

double StageCosts::kept(int64_t stage, const StageLayers& layers) const {
  return kept_by(layers) - layout_->handed(stage) + boundary(stage);
}

}  // namespace partita
