#pragma once
// The time that a collective takes by the algorithms of this project's runtime.

#include <optional>

#include "base/collective_algorithm.h"
#include "planner/cluster/place.h"

namespace partita {

/// Returns how the ranks of a group lie on hosts; a whole innermost level of `cluster` is a host. They are threads if
/// the cluster has one host, and its software the algorithm `direct`.
RankSpread spread_of(const GroupPlace& place, const Cluster& cluster);

/// An algorithm of the runtime and its seconds.
struct RuntimeSeconds {
  CollectiveAlgorithm algorithm;
  double seconds = 0;
};
/// Returns the algorithm that the runtime chooses for a collective among those of the cluster's software, and its
/// seconds with protocol number `protocol`, in which the call counts as one of `bytes` / `share` bytes. Calls just
/// below the bytes from which another algorithm runs cost at most as much as a call of these bytes, so that more bytes
/// never take less time. None if the software has no algorithm of the runtime.
std::optional<RuntimeSeconds> runtime_seconds(Collective kind, double bytes, double share, DType dtype,
                                              const GroupPlace& place, const Cluster& cluster, size_t protocol);

}  // namespace partita
