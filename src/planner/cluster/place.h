#pragma once
// How groups of ranks lie on the levels of a cluster.

#include "ir/sharding/mesh.h"
#include "planner/cluster/cluster.h"

namespace partita {

/// Where the members of a group are, and which links they share with the other groups that do the same at that time.
/// All lists are by level, innermost first. Where groups differ, as those that straddle nodes do, the one that is worst
/// off counts at every level.
struct GroupPlace {
  int64_t ranks = 1;
  std::vector<int64_t> members;   // parts of the level that have members, in the part outside of it that has most
  std::vector<int64_t> inside;    // members in the part of the level with fewest; they drive its links together
  std::vector<int64_t> sharing;   // groups that use the links of one part
  std::vector<int64_t> crossing;  // groups that use the whole level
  auto operator<=>(const GroupPlace&) const = default;
};

/// The groups of `mesh` over some of its axes of ranks, all of them at once, when its ranks are `first_rank` and those
/// behind it (or of its list). Throws InvalidArgument when the cluster has fewer ranks.
GroupPlace place_of(const Mesh& mesh, const Axes& axes, int64_t first_rank, const Cluster& cluster);

/// Two ranks of which one sends to the other, while each rank of a part `first` sends to its counterpart in `second`.
GroupPlace place_between(int64_t first, int64_t second, int64_t ranks, const Cluster& cluster);

}  // namespace partita
