#include "ir/sharding/reshard_bound.h"

#include <algorithm>

#include "ir/sharding/axes.h"

namespace partita {
namespace {

/// Returns the number of parts into which those of `runs` that a sharding does not use could slice it.
double free_ways(const Sharding& now, const std::vector<Axes>& runs, const Mesh& mesh) {
  double ways = 1;
  for (const Axes& run : runs) {
    if (is_unused(now, run.front())) ways *= static_cast<double>(mesh.ways(run));
  }
  return ways;
}

}  // namespace

double cheapest_byte(const LinkCosts& costs) { return costs.byte.empty() ? 0 : *std::ranges::min_element(costs.byte); }

double min_cost(const ReshardEnds& ends, const std::vector<Axes>& runs, const Sharding& now) {
  double shared = 1;
  for (size_t d = 0; d < now.dims.size(); ++d) {
    const Axes &a = now.dims[d], &b = ends.to.dims[d];
    const size_t common = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin();
    if (common < a.size() && common < b.size()) shared = 0;
    const Axes& finer = a.size() > b.size() ? a : b;
    shared *= static_cast<double>(ends.type.shape[d]) / static_cast<double>(ends.mesh.ways(finer));
  }
  const double wanted = local_elements(ends.type, ends.to.dims, ends.mesh);
  double missing = wanted - shared;
  const auto open = static_cast<double>(ends.mesh.ways(without(now.partial, ends.to.partial)));
  if (open > 1) {  // sliced by free axes first; then each rank receives all shares but its own of one part
    const double reduced = local_elements(ends.type, now.dims, ends.mesh) / free_ways(now, runs, ends.mesh);
    missing = reduced * (open - 1) / open + std::max(0.0, wanted - reduced / open);
  }
  return std::max(0.0, missing) * static_cast<double>(size_of(ends.type.dtype)) * cheapest_byte(ends.costs) *
         (1 - kCostTolerance);
}

}  // namespace partita
