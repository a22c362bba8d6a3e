#pragma once
// The time that a collective takes.

#include <optional>

#include "base/collective_algorithm.h"
#include "planner/cluster/place.h"

namespace partita {

/// Seconds of a collective of a group, while all groups that share its links run the same collective. `bytes` are those
/// of one rank:
///   all_reduce, reduce_scatter, all_to_all, broadcast   its whole input buffer
///   all_gather                                          its whole result
///   permute, send, recv, halo_exchange                  the message; for a halo, to each neighbour
/// The result is the minimum over the algorithms and protocols of the cluster's library. Each takes the latency of its
/// steps at every level, plus the bytes over the bandwidth of the slowest level. Of the algorithms of this project's
/// runtime (collective_algorithm.h) the one counts that runs elements of `dtype`. The result is monotone: more bytes,
/// slower links or longer latencies never take less time. Collectives that do not communicate (slice, accumulate,
/// stack, split, leave) and groups of one rank cost 0; their kernels are priced as computation. `cluster` must be
/// verified.
double seconds_of(Collective kind, double bytes, const GroupPlace& place, const Cluster& cluster,
                  DType dtype = DType::f32);

/// One algorithm and protocol for a collective, such as ring with LL128, and its seconds.
struct CollectiveOption {
  std::optional<CollectiveAlgorithm> algorithm;  // none: a library has one algorithm for this collective
  size_t protocol = 0;                           // index in the protocols of the cluster
  double seconds = 0;
};
/// The options among which `seconds_of` takes the fastest; empty if the collective costs nothing. For tests and
/// explanations.
std::vector<CollectiveOption> collective_options(Collective kind, double bytes, const GroupPlace& place,
                                                 const Cluster& cluster, DType dtype = DType::f32);
/// Returns the algorithm of the fastest option; none if the collective costs nothing, or has no named algorithm.
std::optional<CollectiveAlgorithm> algorithm_of(Collective kind, double bytes, const GroupPlace& place,
                                                const Cluster& cluster, DType dtype = DType::f32);

}  // namespace partita
