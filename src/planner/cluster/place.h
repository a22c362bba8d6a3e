#pragma once
// The placement of groups of ranks on the levels of a cluster.

#include "ir/sharding/mesh.h"
#include "planner/cluster/cluster.h"

namespace partita {

/// The placement of a group of ranks, and how many other groups share its links at the same time. All lists are by
/// level, innermost first. If groups differ, for instance because some straddle nodes, each level takes the worst of
/// them.
struct GroupPlace {
  int64_t ranks = 1;
  std::vector<int64_t> members;   // parts of the level that have members; maximum over the whole levels
  std::vector<int64_t> inside;    // members in one part, which drive its links together; minimum over the parts
  std::vector<int64_t> sharing;   // groups that use the links of one part; 0: none leaves it
  std::vector<int64_t> crossing;  // groups that use one whole level; 0: none leaves its parts
  auto operator<=>(const GroupPlace&) const = default;
};

/// The placement of the groups over some axes of ranks of `mesh`, all of which communicate at once. The ranks of the
/// mesh (consecutive, or those of its list) are counted from `first_rank`. Throws InvalidArgument if the cluster has
/// too few ranks.
GroupPlace place_of(const Mesh& mesh, const Axes& axes, int64_t first_rank, const Cluster& cluster);

/// The placement of a pair of ranks, sender and receiver, while each of `ranks` ranks from `first` on sends to its
/// counterpart from `second` on. Throws InvalidArgument if the cluster has too few ranks.
GroupPlace place_between(int64_t first, int64_t second, int64_t ranks, const Cluster& cluster);

}  // namespace partita
