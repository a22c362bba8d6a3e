#include "planning/places.h"

namespace partita {

const GroupPlace& Places::between(int64_t first, int64_t second, int64_t ranks) {
  const auto [entry, fresh] = between_.try_emplace({first, second, ranks});
  if (fresh) entry->second = place_between(first, second, ranks, cluster_);
  return entry->second;
}

const GroupPlace& Places::group(const Ranks& ranks, const std::vector<std::string>& names, int64_t first_rank) {
  const auto [entry, fresh] = groups_.try_emplace({ranks, names, first_rank});
  if (!fresh) return entry->second;
  const Mesh mesh({{"data", ranks.data}, {"context", ranks.context}, {"tensor", ranks.tensor}});
  Axes axes;
  for (const std::string& name : names) {
    for (int axis : mesh.find(name)) axes.push_back(axis);
  }
  entry->second = place_of(mesh, axes, first_rank, cluster_);
  return entry->second;
}

}  // namespace partita
