#include "cluster/place.h"

#include <algorithm>
#include <numeric>

#include "sharding/axes.h"

namespace partita {
namespace {

/// Ranks of a part of each level, from one rank on, and behind them those of the whole cluster.
std::vector<int64_t> part_sizes(const Cluster& cluster) {
  std::vector<int64_t> sizes{1};
  for (const LinkLevel& level : cluster.levels) sizes.push_back(sizes.back() * level.size);
  return sizes;
}

GroupPlace alone(size_t levels) {
  return {1, std::vector<int64_t>(levels, 1), std::vector<int64_t>(levels, 1), std::vector<int64_t>(levels, 0),
          std::vector<int64_t>(levels, 0)};
}

/// How many of the positions on an axis of some stride and size lie within one part; none when that differs.
std::optional<int64_t> within(int64_t stride, int64_t size, int64_t part) {
  if (stride * size <= part) return part % (stride * size) == 0 ? std::optional(size) : std::nullopt;
  if (stride >= part) return stride % part == 0 ? std::optional<int64_t>(1) : std::nullopt;
  const int64_t positions = part / stride;
  return part % stride == 0 && size % positions == 0 ? std::optional(positions) : std::nullopt;
}

/// Members of a group and of the whole mesh in a part of each level, and in the cluster.
struct PartCounts {
  std::vector<int64_t> group, mesh;
};

/// None unless all groups lie alike.
std::optional<PartCounts> counts_of(const Mesh& mesh, const Axes& axes, int64_t first, const Cluster& cluster) {
  if (!mesh.rank_list().empty()) return std::nullopt;
  PartCounts counts;
  const int64_t ranks = mesh.ranks();
  for (const int64_t part : part_sizes(cluster)) {
    const bool whole = first % part + ranks <= part;  // the mesh is inside one part
    if (!whole && first % part != 0) return std::nullopt;
    int64_t group = 1, all = 1, stride = 1;
    for (int axis = static_cast<int>(mesh.rank_axes()); axis-- > 0;) {
      const int64_t size = mesh.axes()[axis].size;
      const std::optional<int64_t> count = whole ? size : within(stride, size, part);
      if (!count) return std::nullopt;
      all *= *count;
      if (contains(axes, axis)) group *= *count;
      stride *= size;
    }
    counts.group.push_back(group);
    counts.mesh.push_back(all);
  }
  return counts;
}

GroupPlace place_from(const PartCounts& counts) {
  GroupPlace place = alone(counts.group.size() - 1);
  place.ranks = counts.group.back();
  for (size_t l = 0; l < place.members.size(); ++l) {
    place.members[l] = counts.group[l + 1] / counts.group[l];
    place.inside[l] = counts.group[l];
    if (place.members[l] == 1) continue;
    place.sharing[l] = counts.mesh[l] / counts.group[l];
    place.crossing[l] = counts.mesh[l + 1] / counts.group[l + 1];
  }
  return place;
}

struct GroupMember {
  int64_t group = 0, rank = 0;
  auto operator<=>(const GroupMember&) const = default;
};

/// Counts members and groups one by one. `members` are sorted.
GroupPlace count_places(const std::vector<GroupMember>& members, int64_t ranks, const Cluster& cluster) {
  const std::vector<int64_t> parts = part_sizes(cluster);
  GroupPlace place = alone(cluster.levels.size());
  place.ranks = ranks;
  for (size_t l = 0; l < cluster.levels.size(); ++l) {
    const int64_t inner = parts[l], outer = parts[l + 1];
    std::map<int64_t, int64_t> sharing, crossing;  // groups by part and by level
    int64_t fewest = outer;
    for (size_t i = 0; i < members.size();) {
      std::vector<std::pair<int64_t, int64_t>> held;  // parts of one level, with their members of one group
      const GroupMember& first = members[i];
      for (; i < members.size() && members[i].group == first.group && members[i].rank / outer == first.rank / outer;
           ++i) {
        const int64_t part = members[i].rank / inner;
        if (held.empty() || held.back().first != part) held.emplace_back(part, 0);
        ++held.back().second;
      }
      place.members[l] = std::max(place.members[l], std::ssize(held));
      if (held.size() == 1) continue;
      ++crossing[first.rank / outer];
      for (const auto& [part, count] : held) {
        ++sharing[part];
        fewest = std::min(fewest, count);
      }
    }
    if (crossing.empty()) continue;
    place.inside[l] = fewest;
    for (const auto& [part, groups] : sharing) place.sharing[l] = std::max(place.sharing[l], groups);
    for (const auto& [block, groups] : crossing) place.crossing[l] = std::max(place.crossing[l], groups);
  }
  return place;
}

void check_rank(int64_t last, const Cluster& cluster) {
  if (last < cluster.ranks()) return;
  throw InvalidArgument(fmt::format("[cluster] {} has too few ranks, got rank {}, expected 0 to {}", cluster.name, last,
                                    cluster.ranks() - 1));
}

}  // namespace

GroupPlace place_of(const Mesh& mesh, const Axes& axes, int64_t first_rank, const Cluster& cluster) {
  if (mesh.rank_list().empty()) check_rank(first_rank + mesh.ranks() - 1, cluster);
  if (const auto counts = counts_of(mesh, axes, first_rank, cluster)) return place_from(*counts);
  Axes others;
  for (int axis = 0; axis < static_cast<int>(mesh.rank_axes()); ++axis) {
    if (!contains(axes, axis)) others.push_back(axis);
  }
  std::vector<GroupMember> members;
  for (int64_t at = 0; at < mesh.ranks(); ++at) {
    const std::vector<int64_t> coordinates = mesh.coordinates_at(at);
    members.push_back({mesh.index_on(coordinates, others), first_rank + mesh.rank_of(coordinates)});
    check_rank(members.back().rank, cluster);
  }
  std::sort(members.begin(), members.end());
  return count_places(members, mesh.ranks() / mesh.ways(others), cluster);
}

GroupPlace place_between(int64_t first, int64_t second, int64_t ranks, const Cluster& cluster) {
  check_rank(std::max(first, second) + ranks - 1, cluster);
  std::vector<GroupMember> members;
  for (int64_t i = 0; i < ranks; ++i) {
    members.push_back({i, std::min(first, second) + i});
    members.push_back({i, std::max(first, second) + i});
  }
  return count_places(members, 2, cluster);
}

Mesh cluster_mesh(const Cluster& cluster, int64_t ranks) {
  std::vector<std::pair<std::string, int64_t>> named;
  int64_t left = ranks;
  for (size_t l = 0; l < cluster.levels.size(); ++l) {
    const bool all = l + 1 == cluster.levels.size() || left <= cluster.levels[l].size;
    const int64_t size = all ? left : std::gcd(left, cluster.levels[l].size);
    if (size > 1) named.emplace_back(cluster.levels[l].name, size);
    left /= size;
  }
  std::reverse(named.begin(), named.end());
  return Mesh::undivided(named);
}

}  // namespace partita
