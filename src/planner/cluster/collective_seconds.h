#pragma once
// Seconds of a collective.

#include "base/collective.h"
#include "planner/cluster/place.h"

namespace partita {

/// Seconds of a collective of a group, while the groups that share its links do the same. `bytes` of one rank:
///   all_reduce, reduce_scatter, all_to_all, broadcast   what it puts in, the whole buffer
///   all_gather                                          what it gets, the whole result
///   permute, send, recv, halo_exchange                  the message; of a halo, to each neighbour
/// The fastest of the algorithms and protocols that the cluster's library has: latency of the steps at each level, and
/// the bytes over the bandwidth of the slowest. Monotone: more bytes, slower links or longer latencies never take less
/// time. What takes no part in communication (slice, accumulate, stack, split, leave) and a group of one cost 0;
/// kernels of these are priced as computation. `cluster` is verified.
double seconds_of(Collective kind, double bytes, const GroupPlace& place, const Cluster& cluster);

/// The lines of which the fastest counts, for tests and explanations: "ring LL128" and its seconds.
struct CollectiveOption {
  CollectiveAlgorithm algorithm;
  size_t protocol = 0;
  double seconds = 0;
};
std::vector<CollectiveOption> collective_options(Collective kind, double bytes, const GroupPlace& place,
                                                 const Cluster& cluster);

}  // namespace partita
