#include "planner/cluster/link_costs.h"

#include <algorithm>

#include "planner/cluster/collective_seconds.h"

namespace partita {

LinkCosts link_costs(const Mesh& mesh, int64_t first_rank, const Cluster& cluster) {
  constexpr double kSmall = 1 << 20, kLarge = 1 << 26;
  LinkCosts costs{std::vector<double>(mesh.axes().size(), 0), std::vector<double>(mesh.axes().size(), 0)};
  for (int axis = 0; axis < static_cast<int>(mesh.rank_axes()); ++axis) {
    const GroupPlace place = place_of(mesh, {axis}, first_rank, cluster);
    const double others = static_cast<double>(mesh.axes()[axis].size - 1);
    const double small = seconds_of(Collective::all_gather, kSmall, place, cluster);
    const double large = seconds_of(Collective::all_gather, kLarge, place, cluster);
    const double byte = (large - small) / (kLarge - kSmall);  // seconds per byte of the result
    costs.step[axis] = (small - kSmall * byte) / others;
    costs.byte[axis] = byte * (others + 1) / others;
  }
  if (mesh.micro_axis() >= 0) {
    costs.step[mesh.micro_axis()] = *std::ranges::max_element(costs.step);
    costs.byte[mesh.micro_axis()] = *std::ranges::max_element(costs.byte);
  }
  return costs;
}

}  // namespace partita
