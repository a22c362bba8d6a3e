// Chooses how many layers of each group of stages are recomputed if a step does not fit otherwise.

#include <algorithm>
#include <limits>

#include "planner/pricing/step/price.h"

namespace partita {
namespace {

constexpr double kNoTime = std::numeric_limits<double>::infinity();

/// Groups are independent: the memory of a group depends on its own layers and on the order, which does not depend on
/// the times of the stages (except in zero_bubble). Recomputation only lengthens the backward pass of a stage, by the
/// sum over its layers. So the smallest sum in each group makes every section as short as possible, and with it every
/// path through the sections of the order. No choice of more or of other layers has a shorter step. Overlap with
/// messages changes which path is the longest, but not this order.
///
/// In a group of equal layers, the sum and the memory depend only on the number of layers of each policy. For each
/// number of layers that are recomputed in full, the smallest number of selective ones that fits is the best.
class RecomputationFit {
 public:
  /// `stages` and `memory` must outlive this object.
  RecomputationFit(const StageCosts& stages, const StepMemory& memory, int64_t zero, double limit)
      : stages_(stages),
        memory_(memory),
        zero_(zero),
        limit_(limit),
        recomputable_(stages.request().recomputable),
        has_full_(has(Recompute::full)),
        has_selective_(has(Recompute::selective)) {}

  std::optional<RecomputedLayers> run() {
    std::vector<RecomputedLayers::Counts> counts;
    bool is_all = true;
    for (int64_t group = 0; group < stages_.configuration().pipeline; ++group) {
      group_ = group;
      layers_ = stages_.layers_of(group);
      add_up();
      const std::optional<RecomputedLayers::Counts> own = least();
      if (!own) return std::nullopt;
      is_all = is_all && own->full == layer_count();
      counts.push_back(*own);
    }
    return is_all ? RecomputedLayers(Recompute::full) : RecomputedLayers(std::move(counts));
  }

 private:
  /// Whether the policy recomputes anything of the network.
  bool has(Recompute policy) const {
    try {
      stages_.costs(policy);
      return true;
    } catch (const InvalidArgument&) {
      return false;
    }
  }

  int64_t layer_count() const { return static_cast<int64_t>(full_.size()) - 1; }

  /// Finds, for each policy and each number of recomputed layers, the seconds that recomputing the first layers of the
  /// group adds to a micro-batch (`full_`, `selective_`).
  void add_up() {
    full_.assign(1, 0);
    selective_.assign(1, 0);
    for (const StageLayers& stage : layers_) {
      for (size_t u = 0; u < stage.size(); ++u) {
        for (size_t copy = 0; recomputable_[u] && copy < stage[u].count(); ++copy) {
          full_.push_back(full_.back() + (has_full_ ? added(u, Recompute::full) : 0));
          selective_.push_back(selective_.back() + (has_selective_ ? added(u, Recompute::selective) : 0));
        }
      }
    }
  }

  double added(size_t unit, Recompute policy) const {
    const UnitCosts &kept = stages_.costs(Recompute::none).units[unit], &recomputed = stages_.costs(policy).units[unit];
    return recomputed.forward.seconds() + recomputed.backward.seconds() - kept.forward.seconds() -
           kept.backward.seconds();
  }

  std::optional<RecomputedLayers::Counts> least() {
    std::optional<RecomputedLayers::Counts> best;
    double best_seconds = kNoTime;
    const int64_t most = has_full_ ? layer_count() : 0;
    for (int64_t full = first_count_where(most,
                                          [&](int64_t count) {
                                            return fits({count, others(count)});
                                          });
         full <= most && full_[static_cast<size_t>(full)] < best_seconds; ++full) {
      const int64_t selective = first_count_where(others(full), [&](int64_t count) { return fits({full, count}); });
      if (selective > others(full)) continue;
      const double seconds = full_[static_cast<size_t>(full)] + selective_[static_cast<size_t>(full + selective)] -
                             selective_[static_cast<size_t>(full)];
      if (seconds >= best_seconds) continue;
      best_seconds = seconds;
      best = {full, selective};
    }
    return best;
  }

  /// The number of layers of the group that can be recomputed selectively in addition to `full` others; 0 if the
  /// selective policy recomputes nothing of the network.
  int64_t others(int64_t full) const { return has_selective_ ? layer_count() - full : 0; }

  /// Returns the smallest number up to `most` for which `is_true` holds; `most` + 1 if there is none. Except for 0, if
  /// `is_true` holds for a number it must hold for all larger ones.
  template <class Test>
  static int64_t first_count_where(int64_t most, const Test& is_true) {
    if (is_true(0)) return 0;
    if (most == 0 || !is_true(most)) return most + 1;
    int64_t too_few = 0, enough = most;
    while (enough - too_few > 1) {
      const int64_t middle = (too_few + enough) / 2;
      (is_true(middle) ? enough : too_few) = middle;
    }
    return enough;
  }

  bool fits(RecomputedLayers::Counts counts) {
    tried_ = layers_;
    for (StageLayers& stage : tried_) choose_policies(stage, recomputable_, counts);
    return memory_.of_group(group_, zero_, tried_).total() <= limit_;
  }

  const StageCosts& stages_;
  const StepMemory& memory_;
  const int64_t zero_;
  const double limit_;  // bytes
  const std::vector<bool> recomputable_;
  const bool has_full_, has_selective_;
  int64_t group_ = 0;
  std::vector<StageLayers> layers_, tried_;  // the group's stages: without, and with recomputation
  std::vector<double> full_, selective_;     // by number of layers: added seconds
};

}  // namespace

std::optional<RecomputedLayers> StagePrices::min_recomputation(int64_t zero, double memory) const {
  return RecomputationFit(costs_, memory_, zero, memory).run();
}

}  // namespace partita
