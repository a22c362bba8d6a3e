#pragma once
// Where groups of ranks lie on a cluster, and what collectives take there, each found once.

#include <map>
#include <set>
#include <tuple>

#include "base/collective.h"
#include "planner/cluster/place.h"

namespace partita {

/// Of stages on contiguous ranks, data x context x tensor of them, the fastest last.
class Places {
 public:
  struct Ranks {
    int64_t data = 1, context = 1, tensor = 1;
    int64_t count() const { return data * context * tensor; }
    auto operator<=>(const Ranks&) const = default;
  };

  /// The cluster outlives this.
  explicit Places(const Cluster& cluster) : cluster_(cluster) {}

  /// The ranks of a stage that share the same cut of a batch.
  const GroupPlace& tensor(const Ranks& ranks, int64_t first_rank) { return group(ranks, Sharing::tensor, first_rank); }
  /// Those that share parameters.
  const GroupPlace& batch(const Ranks& ranks, int64_t first_rank) { return group(ranks, Sharing::batch, first_rank); }
  /// A rank of a stage and its counterpart in another one.
  const GroupPlace& between(int64_t first, int64_t second, int64_t ranks);
  /// The fewest of so many groups of contiguous ranks, one after the other from the first rank on, among which each
  /// lies and shares links as it does among all of them.
  int64_t fewest_alike(int64_t groups, int64_t ranks_of_group) const;
  /// Of a collective in a place that this has found.
  double seconds(Collective kind, double bytes, const GroupPlace& place);

 private:
  enum class Sharing { tensor, batch };
  const GroupPlace& group(const Ranks& ranks, Sharing sharing, int64_t first_rank);
  const GroupPlace& only(GroupPlace place);

  const Cluster& cluster_;
  std::map<std::tuple<Ranks, Sharing, int64_t>, const GroupPlace*> groups_;
  std::map<std::tuple<int64_t, int64_t, int64_t>, const GroupPlace*> between_;
  std::set<GroupPlace> places_;  // many groups lie alike
  std::map<std::tuple<const GroupPlace*, Collective, double>, double> seconds_;
};

}  // namespace partita
