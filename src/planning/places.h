#pragma once
// Where groups of ranks lie on a cluster, each found once.

#include <map>
#include <tuple>

#include "cluster/place.h"

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
  const GroupPlace& tensor(const Ranks& ranks, int64_t first_rank) { return group(ranks, {"tensor"}, first_rank); }
  /// Those that share parameters.
  const GroupPlace& batch(const Ranks& ranks, int64_t first_rank) {
    return group(ranks, {"data", "context"}, first_rank);
  }
  /// A rank of a stage and its counterpart in another one.
  const GroupPlace& between(int64_t first, int64_t second, int64_t ranks);

 private:
  const GroupPlace& group(const Ranks& ranks, const std::vector<std::string>& axes, int64_t first_rank);

  const Cluster& cluster_;
  std::map<std::tuple<Ranks, std::vector<std::string>, int64_t>, GroupPlace> groups_;
  std::map<std::tuple<int64_t, int64_t, int64_t>, GroupPlace> between_;
};

}  // namespace partita
