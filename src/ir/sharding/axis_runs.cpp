#include "ir/sharding/axis_runs.h"

#include <algorithm>

#include "ir/sharding/axes.h"

namespace partita {
namespace {

constexpr int kLast = -1, kUnused = -2, kPartial = -3;

/// Returns the axis right after this one in its dimension, or kLast if it is the last there. For an axis that cuts no
/// dimension returns kPartial if the value is partial over it, else kUnused.
int next_axis(const Sharding& sharding, int axis) {
  for (const Axes& axes : sharding.dims) {
    const auto at = std::ranges::find(axes, axis);
    if (at != axes.end()) return at + 1 == axes.end() ? kLast : *(at + 1);
  }
  return contains(sharding.partial, axis) ? kPartial : kUnused;
}

/// Returns the axis that joins this one in a run, or -1: the one that follows it on both sides, or on one side while
/// both are unused or partial on the other. Axes that are partial in `from` and unused in `to` join the next such axis.
int joint(const ReshardEnds& ends, int axis) {
  const int here = next_axis(ends.from, axis), there = next_axis(ends.to, axis);
  if (here >= 0 && (there == here || (there != kLast && there < 0 && next_axis(ends.to, here) == there))) return here;
  if (there >= 0 && here != kLast && here < 0 && next_axis(ends.from, there) == here) return there;
  if (here != kPartial || there != kUnused) return -1;
  for (int next = axis + 1; next < static_cast<int>(ends.mesh.axes().size()); ++next) {
    if (next_axis(ends.from, next) == kPartial && next_axis(ends.to, next) == kUnused) return next;
  }
  return -1;
}

}  // namespace

bool is_unused(const Sharding& sharding, int axis) { return next_axis(sharding, axis) == kUnused; }

std::vector<Axes> merged_runs(const ReshardEnds& ends) {
  std::vector<Axes> runs;
  for (size_t axis = 0; axis < ends.mesh.axes().size(); ++axis) {
    const int a = static_cast<int>(axis);
    if (is_unused(ends.from, a) && is_unused(ends.to, a)) continue;
    const bool continues = std::any_of(ends.mesh.axes().begin(), ends.mesh.axes().end(), [&](const MeshAxis& other) {
      return joint(ends, static_cast<int>(&other - ends.mesh.axes().data())) == a;
    });
    if (continues) continue;
    Axes run{a};
    for (int next = joint(ends, a); next >= 0; next = joint(ends, next)) run.push_back(next);
    runs.push_back(run);
  }
  return runs;
}

std::vector<Axes> single_runs(const ReshardEnds& ends) {
  std::vector<Axes> runs;
  const bool free = std::ranges::all_of(ends.costs.step, [](double step) { return step == 0; });
  for (size_t axis = 0; axis < ends.mesh.axes().size(); ++axis) {
    const int a = static_cast<int>(axis);
    const bool unused = is_unused(ends.from, a) && is_unused(ends.to, a);
    if (!(unused && free && ends.from.partial != ends.to.partial)) runs.push_back({a});
  }
  return runs;
}

const Axes* run_at(const std::vector<Axes>& runs, const Axes& axes, size_t at) {
  for (const Axes& run : runs) {
    if (run.front() == axes[at]) return &run;
  }
  return nullptr;
}

}  // namespace partita
