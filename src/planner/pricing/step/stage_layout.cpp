#include "planner/pricing/step/stage_layout.h"

#include <algorithm>

#include "base/error.h"
#include "planner/pricing/layers/layer_seconds.h"

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

UnitCosts sum_of(const StageLayers& layers, const CostsOfPolicy& costs) {
  UnitCosts sum;
  for (size_t u = 0; u < layers.size(); ++u) {
    for (const Recompute policy : kPoliciesInOrder) {
      const auto copies = static_cast<double>(layers[u].of(policy));
      if (copies > 0) sum.add(costs(policy).units[u], copies);
    }
  }
  return sum;
}

}  // namespace

StageLayout::StageLayout(const FoldedGraph& folded, const std::vector<bool>& recomputable,
                         const Configuration& configuration, const CostsOfPolicy& costs)
    : layers_(static_cast<size_t>(configuration.pipeline)),
      handed_(static_cast<size_t>(configuration.pipeline * configuration.interleave), 0) {
  split(folded, configuration, costs);
  choose_recomputed_layers(recomputable, configuration.recompute);
  add_up_stages(costs);
  add_up_groups();
}

const StageLayers& StageLayout::layers_of_stage(int64_t stage) const {
  const auto groups = static_cast<int64_t>(layers_.size());
  return layers_[static_cast<size_t>(stage % groups)][static_cast<size_t>(stage / groups)];
}

void StageLayout::split(const FoldedGraph& folded, const Configuration& configuration, const CostsOfPolicy& costs) {
  const Recompute policy = configuration.recompute.all;
  const std::vector<AssignedLayer> layers = layers_in_order(folded, costs(policy));
  const std::vector<size_t> begins = assign_layers(layers, stages(), configuration.layer_split);
  for (int64_t s = 0; s < stages(); ++s) {
    StageLayers& stage = layers_[static_cast<size_t>(s % configuration.pipeline)].emplace_back(folded.units.size());
    for (size_t i = begins[s]; i < begins[s + 1]; ++i) ++stage[layers[i].unit].of(policy);
  }
}

void StageLayout::choose_recomputed_layers(const std::vector<bool>& recomputable, const RecomputedLayers& recompute) {
  if (!recompute.is_counted()) return;
  for (size_t group = 0; group < layers_.size(); ++group) {
    RecomputedLayers::Counts left = recompute.counts[group];
    int64_t layers = 0;
    for (StageLayers& stage : layers_[group]) {
      layers += recomputable_layers(stage, recomputable);
      choose_policies(stage, recomputable, left);
    }
    if (left.full + left.selective == 0) continue;
    throw InvalidArgument(
        "[--fixed recompute] more layers than there are, got {} of group {} of stages, expected at most {}",
        layers + left.full + left.selective, group, layers);
  }
}

/// Sums up the layers of stages, and finds the boundaries between these.
void StageLayout::add_up_stages(const CostsOfPolicy& costs) {
  std::vector<double> boundaries;
  for (int64_t s = 0; s < stages(); ++s) {
    const StageLayers& layers = layers_of_stage(s);
    const size_t first = first_unit(layers);
    const UnitCosts& unit = costs(first_policy(layers[first])).units[first];
    boundaries.push_back(unit.boundary);
    if (s > 0) handed_[s - 1] = unit.handed;
  }
  for (int64_t s = 0; s < stages(); ++s) {
    const bool is_alike = s > 0 && boundaries[s] == boundaries[s - 1] && handed_[s] == handed_[s - 1] &&
                          layers_of_stage(s) == layers_of_stage(s - 1);
    if (!is_alike) {
      UnitCosts& sum = stage_sums_.emplace_back(sum_of(layers_of_stage(s), costs));
      sum.boundary = boundaries[s];
      sum.kept -= handed_[s];
    }
    of_stage_.push_back(stage_sums_.size() - 1);
  }
}

void StageLayout::add_up_groups() {
  const auto groups = static_cast<int64_t>(layers_.size());
  for (int64_t group = 0; group < groups; ++group) {
    bool is_alike = group > 0;
    for (int64_t s = group; s < stages() && is_alike; s += groups) is_alike = of_stage_[s] == of_stage_[s - 1];
    if (!is_alike) {
      UnitCosts& sum = group_sums_.emplace_back();
      for (int64_t s = group; s < stages(); s += groups) sum.add(stage(s));
    }
    of_group_.push_back(group_sums_.size() - 1);
  }
}

}  // namespace partita
