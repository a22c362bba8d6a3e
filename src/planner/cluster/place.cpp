#include "planner/cluster/place.h"

#include <algorithm>
#include <array>
#include <set>

#include "ir/sharding/axes.h"

namespace partita {
namespace {

/// Returns the number of ranks in a part of each level, innermost first, beginning with 1, and last that of the whole
/// cluster.
std::vector<int64_t> part_sizes(const Cluster& cluster) {
  std::vector<int64_t> sizes{1};
  for (const LinkLevel& level : cluster.levels) sizes.push_back(sizes.back() * level.size);
  return sizes;
}

GroupPlace alone(size_t levels) {
  return {1, std::vector<int64_t>(levels, 1), std::vector<int64_t>(levels, 1), std::vector<int64_t>(levels, 0),
          std::vector<int64_t>(levels, 0)};
}

/// Returns the number of positions on an axis of this stride and size that lie within one part of `part` ranks; none if
/// parts differ.
std::optional<int64_t> within(int64_t stride, int64_t size, int64_t part) {
  if (stride * size <= part) return part % (stride * size) == 0 ? std::optional(size) : std::nullopt;
  if (stride >= part) return stride % part == 0 ? std::optional<int64_t>(1) : std::nullopt;
  const int64_t positions = part / stride;
  return part % stride == 0 && size % positions == 0 ? std::optional(positions) : std::nullopt;
}

/// The members of a group, and of the whole mesh, in a part of each level and in the cluster.
struct PartCounts {
  std::vector<int64_t> group, mesh;
};

/// Counts the members of a group and the ranks of the mesh in one part of each level, in closed form. None for a mesh
/// with a list of ranks, or if not all groups have the same placement.
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

/// Advances to the coordinates of the next rank; after the last one come those of the first.
void step(const Mesh& mesh, std::vector<int64_t>& coordinates) {
  for (size_t axis = mesh.rank_axes(); axis-- > 0;) {
    if (++coordinates[axis] < mesh.axes()[axis].size) return;
    coordinates[axis] = 0;
  }
}

struct GroupMember {
  int64_t group = 0, rank = 0;
  auto operator<=>(const GroupMember&) const = default;
};

/// Returns the placement of groups of `ranks` ranks, counting members and groups one by one. `members` are those of all
/// groups and must be sorted.
GroupPlace count_places(const std::vector<GroupMember>& members, int64_t ranks, const Cluster& cluster) {
  const std::vector<int64_t> parts = part_sizes(cluster);
  GroupPlace place = alone(cluster.levels.size());
  place.ranks = ranks;
  for (size_t l = 0; l < cluster.levels.size(); ++l) {
    const int64_t inner = parts[l], outer = parts[l + 1];
    std::vector<int64_t> sharing(static_cast<size_t>(cluster.ranks() / inner));   // groups, by part
    std::vector<int64_t> crossing(static_cast<size_t>(cluster.ranks() / outer));  // groups, by whole level
    int64_t fewest = outer;
    std::vector<std::pair<int64_t, int64_t>> held;  // parts of one level, with their members of a group
    for (size_t i = 0; i < members.size();) {
      held.clear();
      const GroupMember& first = members[i];
      for (; i < members.size() && members[i].group == first.group && members[i].rank / outer == first.rank / outer;
           ++i) {
        const int64_t part = members[i].rank / inner;
        if (held.empty() || held.back().first != part) held.emplace_back(part, 0);
        ++held.back().second;
      }
      place.members[l] = std::max(place.members[l], std::ssize(held));
      if (held.size() == 1) continue;
      ++crossing[static_cast<size_t>(first.rank / outer)];
      for (const auto& [part, count] : held) {
        ++sharing[static_cast<size_t>(part)];
        fewest = std::min(fewest, count);
      }
    }
    place.crossing[l] = *std::ranges::max_element(crossing);
    if (place.crossing[l] == 0) continue;
    place.inside[l] = fewest;
    place.sharing[l] = *std::ranges::max_element(sharing);
  }
  return place;
}

/// Counts pairs of a rank and the one `distance` after it that lie in one whole level but in different parts of it. The
/// counts are in closed form: inner whole levels are all alike, so only those around the first and last ranks are
/// examined.
class PairCounts {
 public:
  PairCounts(int64_t first, int64_t second, int64_t ranks, int64_t part, int64_t level)
      : first_(first), distance_(second - first), ranks_(ranks), part_(part), level_(level) {}

  /// Returns the maximum number of crossing pairs in one whole level.
  int64_t max_crossing() const {
    int64_t most = 0;
    for (const int64_t at : levels()) most = std::max(most, crossing(at * level_, (at + 1) * level_));
    return most;
  }

  /// Returns the maximum number of crossing pairs that have a rank in the same part, over all parts.
  int64_t max_sharing() const {
    int64_t most = 0;
    const auto look_around = [&](int64_t rank) {
      for (int64_t at = rank / part_ - 1; at <= rank / part_ + 1; ++at) {
        const int64_t begin = at * part_, end = begin + part_;
        most = std::max(most, crossing(begin, end) + crossing(begin - distance_, end - distance_));
      }
    };
    for (const int64_t rank : ends()) look_around(rank);
    for (const int64_t at : levels()) {
      for (const int64_t rank : {at * level_, at * level_ - distance_, at * level_ + distance_}) look_around(rank);
    }
    return most;
  }

 private:
  std::array<int64_t, 4> ends() const {
    return {first_, first_ + ranks_ - 1, first_ + distance_, first_ + distance_ + ranks_ - 1};
  }
  /// The numbers of the whole levels that contain the first or last sender or receiver, and of their neighbours.
  std::set<int64_t> levels() const {
    std::set<int64_t> result;
    for (const int64_t rank : ends()) result.insert({rank / level_ - 1, rank / level_, rank / level_ + 1});
    return result;
  }
  /// The number of crossing pairs whose first rank is in [begin, end).
  int64_t crossing(int64_t begin, int64_t end) const {
    begin = std::max(begin, first_), end = std::min(end, first_ + ranks_);
    return begin < end ? within_one(begin, end, level_) - within_one(begin, end, part_) : 0;
  }
  /// The number of pairs with the first rank in [begin, end) that lie in one part of `size` ranks.
  int64_t within_one(int64_t begin, int64_t end, int64_t size) const {
    if (distance_ >= size) return 0;
    const auto before = [&](int64_t rank) {
      return rank / size * (size - distance_) + std::min(rank % size, size - distance_);
    };
    return before(end) - before(begin);
  }

  int64_t first_, distance_, ranks_, part_, level_;
};

void check_rank(int64_t last, const Cluster& cluster) {
  if (last < cluster.ranks()) return;
  throw InvalidArgument("[cluster] {} has too few ranks, got rank {}, expected 0 to {}", cluster.name, last,
                        cluster.ranks() - 1);
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
  std::vector<int64_t> coordinates = mesh.coordinates_at(0);
  for (int64_t at = 0; at < mesh.ranks(); ++at, step(mesh, coordinates)) {
    members.push_back({mesh.index_on(coordinates, others), first_rank + mesh.rank_of(coordinates)});
    check_rank(members.back().rank, cluster);
  }
  if (!std::ranges::is_sorted(members)) std::ranges::sort(members);
  return count_places(members, mesh.ranks() / mesh.ways(others), cluster);
}

GroupPlace place_between(int64_t first, int64_t second, int64_t ranks, const Cluster& cluster) {
  check_rank(std::max(first, second) + ranks - 1, cluster);
  const std::vector<int64_t> parts = part_sizes(cluster);
  GroupPlace place = alone(cluster.levels.size());
  place.ranks = 2;
  for (size_t l = 0; l < cluster.levels.size(); ++l) {
    const PairCounts counts(std::min(first, second), std::max(first, second), ranks, parts[l], parts[l + 1]);
    place.crossing[l] = counts.max_crossing();
    if (place.crossing[l] == 0) continue;
    place.members[l] = 2;
    place.sharing[l] = counts.max_sharing();
  }
  return place;
}

}  // namespace partita
