#include "planner/pricing/stage_costs.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "planner/pricing/assign_layers.h"

namespace partita {
namespace {

size_t first_unit(const StageLayers& layers) {
  size_t first = 0;
  while (first + 1 < layers.size() && layers[first].count() == 0) ++first;
  return first;
}

Recompute first_policy(const UnitCopies& copies) {
  return *std::find_if(kPoliciesInOrder.begin(), kPoliciesInOrder.end() - 1,
                       [&](Recompute policy) { return copies.of(policy) > 0; });
}

}  // namespace

StageCosts::StageCosts(PriceRequest request)
    : request_(std::move(request)),
      configuration_(request_.configuration),
      micro_batches_(partita::micro_batches(configuration_, request_.batch)),
      ranks_{configuration_.data, configuration_.context, configuration_.tensor} {
  split_into_stages();
  choose_recomputed_layers();
  add_up();
}

const LayerCosts& StageCosts::costs(Recompute policy) const {
  const LayerCosts*& cached = costs_[static_cast<size_t>(policy)];
  if (cached == nullptr) cached = &request_.costs(policy);
  return *cached;
}

void StageCosts::split_into_stages() {
  const Recompute policy = configuration_.recompute.all;
  std::vector<AssignedLayer> layers;
  const std::vector<FoldedUnit>& units = request_.folded.units;
  for (size_t u = 0; u < units.size(); ++u) {
    const UnitCosts& unit = costs(policy).units[u];
    layers.insert(layers.end(), units[u].count,
                  {u, unit.forward.seconds() + unit.backward.seconds(), units[u].is_copy});
  }
  const std::vector<size_t> begins = assign_layers(layers, stages(), configuration_.layer_split);
  layers_.resize(static_cast<size_t>(configuration_.pipeline));
  for (int64_t s = 0; s < stages(); ++s) {
    StageLayers& stage = layers_[static_cast<size_t>(group_of(s))].emplace_back(units.size());
    for (size_t i = begins[s]; i < begins[s + 1]; ++i) ++stage[layers[i].unit].of(policy);
  }
}

void StageCosts::choose_recomputed_layers() {
  if (!configuration_.recompute.is_counted()) return;
  const std::vector<bool>& recomputable = request_.recomputable;
  for (int64_t group = 0; group < configuration_.pipeline; ++group) {
    RecomputedLayers::Counts left = configuration_.recompute.counts[static_cast<size_t>(group)];
    int64_t layers = 0;
    for (StageLayers& stage : layers_[static_cast<size_t>(group)]) {
      layers += recomputable_layers(stage, recomputable);
      choose_policies(stage, recomputable, left);
    }
    if (left.full + left.selective == 0) continue;
    throw InvalidArgument(
        fmt::format("[--fixed recompute] more layers than there are, got {} of group {} of stages, expected at most {}",
                    layers + left.full + left.selective, group, layers));
  }
}

UnitCosts StageCosts::costs_of(const StageLayers& layers) const {
  UnitCosts sum;
  for (size_t u = 0; u < layers.size(); ++u) {
    for (const Recompute policy : kPoliciesInOrder) {
      const auto copies = static_cast<double>(layers[u].of(policy));
      if (copies > 0) sum.add(costs(policy).units[u], copies);
    }
  }
  return sum;
}

/// Sums up layers, and finds the boundaries between stages.
void StageCosts::add_up() {
  groups_.resize(static_cast<size_t>(configuration_.pipeline));
  handed_.assign(static_cast<size_t>(stages()), 0);
  for (int64_t s = 0; s < stages(); ++s) {
    const StageLayers& layers = layers_of_stage(s);
    UnitCosts& stage = stages_.emplace_back(costs_of(layers));
    const size_t first = first_unit(layers);
    const UnitCosts& unit = costs(first_policy(layers[first])).units[first];
    stage.boundary = unit.boundary;
    if (s > 0) handed_[s - 1] = unit.handed;
  }
  for (int64_t s = 0; s < stages(); ++s) {
    stages_[s].kept -= handed_[s];
    groups_[static_cast<size_t>(group_of(s))].add(stages_[s]);
  }
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
  return kept_by(layers) - handed_[static_cast<size_t>(stage)] + boundary(stage);
}

}  // namespace partita
