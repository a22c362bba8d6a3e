#include "planner/pricing/layers/places.h"

#include <algorithm>
#include <numeric>

#include "planner/cluster/collective_seconds.h"

namespace partita {

/// Returns the stored instance of equal placements; stores this one if there is none.
const GroupPlace& Places::only(GroupPlace place) { return *places_.insert(std::move(place)).first; }

const GroupPlace& Places::between(int64_t first, int64_t second, int64_t ranks) {
  const GroupPlace*& cached = between_[{first, second, ranks}];
  if (cached == nullptr) cached = &only(place_between(first, second, ranks, cluster_));
  return *cached;
}

const GroupPlace& Places::group(const Ranks& ranks, Sharing sharing, int64_t first_rank) {
  const GroupPlace*& cached = groups_[{ranks, sharing, first_rank}];
  if (cached != nullptr) return *cached;
  const Mesh mesh({{"data", ranks.data}, {"context", ranks.context}, {"tensor", ranks.tensor}});
  const std::vector<std::string> names =
      sharing == Sharing::tensor ? std::vector<std::string>{"tensor"} : std::vector<std::string>{"data", "context"};
  Axes axes;
  for (const std::string& name : names) {
    for (int axis : mesh.find(name)) axes.push_back(axis);
  }
  cached = &only(place_of(mesh, axes, first_rank, cluster_));
  return *cached;
}

int64_t Places::fewest_alike(int64_t groups, int64_t ranks_of_group) const {
  int64_t part = 1, period = 1, most = 1;
  bool straddle = false;
  for (size_t l = 0; l < cluster_.levels.size(); ++l) {
    const LinkLevel& level = cluster_.levels[l];
    part *= level.size;
    const bool is_limited = level.total_bandwidth > 0;  // all groups share the bandwidth of the level
    if (l + 1 == cluster_.levels.size()) {
      if (is_limited) return groups;
      break;
    }
    if (part % ranks_of_group == 0) {
      if (is_limited) most = std::max(most, part / ranks_of_group);
    } else if (ranks_of_group % part != 0) {
      straddle = true;
      period = std::lcm(period, std::lcm(part, ranks_of_group) / ranks_of_group);
    }
  }
  if (!straddle) return std::min(groups, most);
  period = std::lcm(period, most);
  return groups <= 2 * period ? groups : period + groups % period;
}

double Places::seconds(Collective kind, double bytes, const GroupPlace& place, DType dtype) {
  const auto [cached, fresh] = seconds_.try_emplace({&place, kind, bytes, dtype}, 0);
  if (fresh) cached->second = seconds_of(kind, bytes, place, cluster_, dtype);
  return cached->second;
}

}  // namespace partita
