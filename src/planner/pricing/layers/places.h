#pragma once
// A cache of the placements of rank groups on a cluster, and of the times of collectives there.

#include <map>
#include <set>
#include <tuple>

#include "base/collective.h"
#include "planner/cluster/place.h"

namespace partita {

/// Placements of the rank groups of stages, which have contiguous ranks. Returned placements live as long as this
/// object. Finding one throws InvalidArgument if the cluster has too few ranks.
class Places {
 public:
  /// The ranks of a stage: data x context x tensor; `tensor` varies fastest.
  struct Ranks {
    int64_t data = 1, context = 1, tensor = 1;
    int64_t count() const { return data * context * tensor; }
    auto operator<=>(const Ranks&) const = default;
  };

  /// The cluster must outlive this object.
  explicit Places(const Cluster& cluster) : cluster_(cluster) {}

  /// Returns the placement of the groups along `tensor` in a stage whose first rank is `first_rank`. The ranks of such
  /// a group share the same rows of the batch. Throws as the class says.
  const GroupPlace& tensor(const Ranks& ranks, int64_t first_rank) { return group(ranks, Sharing::tensor, first_rank); }
  /// Returns the placement of the groups over `data` and `context` in a stage whose first rank is `first_rank`. They
  /// share parameters. Throws as the class says.
  const GroupPlace& batch(const Ranks& ranks, int64_t first_rank) { return group(ranks, Sharing::batch, first_rank); }
  /// Returns the placement of a rank of a stage and its counterpart in another one (`place_between`), whose `ranks`
  /// ranks begin at `first` and `second`. Throws as the class says.
  const GroupPlace& between(int64_t first, int64_t second, int64_t ranks);
  /// Returns the smallest number of groups whose placements and shared links equal those of all `groups` groups. Groups
  /// are `ranks_of_group` contiguous ranks each, one after the other from rank 0.
  int64_t fewest_alike(int64_t groups, int64_t ranks_of_group) const;
  /// Seconds of a collective of elements of `dtype` at a placement that this object returned.
  double seconds(Collective kind, double bytes, const GroupPlace& place, DType dtype = DType::f32);

 private:
  enum class Sharing { tensor, batch };
  const GroupPlace& group(const Ranks& ranks, Sharing sharing, int64_t first_rank);
  const GroupPlace& only(GroupPlace place);

  const Cluster& cluster_;
  std::map<std::tuple<Ranks, Sharing, int64_t>, const GroupPlace*> groups_;
  std::map<std::tuple<int64_t, int64_t, int64_t>, const GroupPlace*> between_;
  std::set<GroupPlace> places_;  // each placement once, since many groups have equal ones
  std::map<std::tuple<const GroupPlace*, Collective, double, DType>, double> seconds_;
};

}  // namespace partita
