#pragma once
// The devices that a plan is priced for, as data: nobody needs to have them. Bytes, seconds, bytes per second and
// floating-point operations per second everywhere; constants belong to hardware and to its libraries, never to a model.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/collective.h"
#include "base/dtype.h"
#include "base/names.h"
#include "ir/work/work.h"

namespace partita {

/// How a library reduces and gathers; of those that it has, the fastest one counts.
enum class CollectiveAlgorithm { ring, tree, hierarchical, in_network };
template <>
inline constexpr auto kNames<CollectiveAlgorithm> = names("ring", "tree", "hierarchical", "in_network");

/// A share of what a device can at most, of work of some size.
struct CurvePoint {
  double size = 1;
  double share = 1;
  bool operator==(const CurvePoint&) const = default;
};
/// Sizes ascend; between two points a share is interpolated on logarithms of both, outside it is the nearest point's.
/// From a point to the next the share grows by no larger a factor than the size: more work never takes less time.
using Curve = std::vector<CurvePoint>;

/// How fast a device is at one kind of work.
struct Efficiency {
  Curve flops;  // share of the peak, by floating-point operations of a call; empty: all of it
  Curve bytes;  // share of the memory's bandwidth, by bytes of a call (above 1 in caches); empty: all of it
  /// A product takes as long as one with so many more rows, columns and depth would without these.
  double extra_rows = 0, extra_columns = 0, extra_depth = 0;
  /// Of a product in a layer of which there is one alone, as that in front of a loss: share of the rate above by its
  /// columns; empty: all of it.
  Curve columns;
  bool operator==(const Efficiency&) const = default;
};

/// A call of an op whose time was measured: its size, as in Work, and the share that it reached of the rate that limits
/// its kind of work: of the peak, or of the memory's bandwidth.
struct MeasuredCall {
  double flops = 0, bytes = 0, batch = 1, rows = 0, columns = 0, depth = 0;
  double share = 1;
  bool operator==(const MeasuredCall&) const = default;
};

/// What computes for one rank.
struct DeviceSpec {
  std::string name;
  std::map<DType, double> peak;  // flop/s of dense products; a type that is not there has the nearest wider one's
  double plain_f32 = 0;          // flop/s of products of f32 where `peak` has them in TF32, of 10 bits; 0: it has not
  double memory = 0;             // bytes
  double memory_bandwidth = 0;   // bytes/s, read and written together
  double launch_overhead = 0;    // seconds of a call, whatever its size
  std::map<WorkKind, Efficiency> efficiency;
  /// Of single ops, by name, in the place of what their kind has.
  std::map<std::string, Efficiency, std::less<>> op_efficiency;
  /// How many times as long as others of their kind kernels of some ops take, by the op's name; else 1.
  std::map<std::string, double, std::less<>> op_factor;
  /// Of single ops, by name, in the place of all that: between calls that were measured, the nearest count most.
  std::map<std::string, std::vector<MeasuredCall>, std::less<>> measured;
  bool operator==(const DeviceSpec&) const = default;
};

/// A way in which the collective library sends messages: small ones soon, or large ones fast.
struct LinkProtocol {
  std::string name;
  double overhead = 0;         // seconds of a collective, whatever its size and ranks
  double bandwidth_share = 1;  // of a link's bandwidth
  double most_bandwidth = 0;   // bytes/s of all links of a part together; 0: no limit
  bool operator==(const LinkProtocol&) const = default;
};

/// One level of links: it connects `size` parts, each a whole of the level inside it and the innermost a rank.
struct LinkLevel {
  std::string name;
  int64_t size = 1;
  double bandwidth = 0;              // bytes/s of one link in one direction; a rank uses one link at a time
  int64_t links = 1;                 // of each part (network adapters of a node); its ranks share them
  std::vector<double> latency;       // seconds of a step, by protocol
  std::vector<double> tree_latency;  // the same of steps in trees; empty: as `latency`
  double total_bandwidth = 0;        // bytes/s through the whole level at once (a bus, a switch); 0: no limit
  double reduce_bandwidth = 0;       // bytes/s of a rank where the switch itself reduces; 0: it does not
  double copy_bandwidth = 0;         // bytes/s at which a rank moves its own buffer beside what it sends; 0: in no time
  /// The share of its link that a rank can use in a group of 2, 3, .. `size` members, where that depends on which of
  /// them are wired to each other; empty: all of it.
  std::vector<double> share_by_members;
  bool operator==(const LinkLevel&) const = default;
};

/// Attention whose scores lie in memory, as that of frameworks without a fused kernel. Bytes of 16-bit numbers.
struct ScoreCosts {
  double forward_bytes = 0, backward_bytes = 0;  // that the kernels move for each score
  double kept_bytes = 0;                         // for each score, from the forward to the backward
  int64_t kernels = 0;                           // of a forward; a backward has twice as many; 0: one fused kernel
  int64_t group = 0;          // a softmax is one kernel where the matrices of scores divide into groups of so many,
  int64_t split_kernels = 0;  // and so many kernels more where they do not
  bool operator==(const ScoreCosts&) const = default;
};

/// What collectives of so many ranks of the innermost level reached of the speed that follows from the links, by bytes.
struct GroupShares {
  int64_t ranks = 2;
  Curve shares;
  bool operator==(const GroupShares&) const = default;
};

/// What the software adds to kernels and messages.
struct SoftwareCosts {
  std::string name = "partita";
  std::vector<CollectiveAlgorithm> algorithms = {CollectiveAlgorithm::ring};
  double step_overhead = 0;      // seconds of a training step that no kernel accounts for
  double rank_overhead = 0;      // the same of several ranks, beside that: reading rows takes time of their cores
  double host_overhead = 0;      // seconds in which the host issues a kernel; hidden where the device takes longer
  double rank_skew = 0;          // seconds that a collective of a layer waits for each of its ranks but the first
  double transfer_overhead = 0;  // seconds of a transfer between stages, beside those of the message
  double product_overlap = 0;    // share of a layer's own collectives that its products can hide
  bool reduces_behind = false;   // gradients are reduced behind the backward, not beside it
  bool gathers_ahead = false;    // what was updated in parts is gathered beside the next forward, not before it
  /// What is recomputed is run whole, not only what the backward reads of it, and its results are kept for others.
  bool recomputes_whole = false;
  bool waits_for_transfers = false;  // a stage computes nothing while it receives from another
  bool regathers = false;            // what a layer gathered is gathered again in the backward, not kept
  bool joins_products = false;       // products of one operand are one, so their gradients need no sums
  bool keeps_gradients = false;      // gradients have memory of their own even for a single micro-batch
  int64_t channel_block = 0;         // channels of images lie in memory in blocks of so many; 0: one by one
  double mask_bytes = 0;             // kept for each element of a sum of activations: what its dropout left
  ScoreCosts scores;
  std::vector<std::string> fused;  // ops of a graph that are parts of other kernels
  /// How many times the bytes and operations of an op of a graph the software moves and computes.
  std::map<std::string, double, std::less<>> op_factor;
  double overlap_slowdown = 1;              // computation takes this times as long while a collective runs beside it
  double tree_share = 1;                    // of the links' bandwidth that reductions over trees reach
  std::map<Collective, double> link_share;  // of the links' bandwidth that a kind of collective reaches; else all
  /// Of kinds that were measured; between numbers of ranks, which ascend, as between sizes.
  std::map<Collective, std::vector<GroupShares>> measured;
  int64_t messages_at_once = 8;  // that a rank sends to different ranks in an all-to-all
  bool operator==(const SoftwareCosts&) const = default;
};

struct Cluster {
  std::string name;
  DeviceSpec device;
  std::vector<LinkLevel> levels;  // innermost first
  std::vector<LinkProtocol> protocols;
  SoftwareCosts software;
  double reserve_memory = 0;  // bytes of each device that are not for tensors
  int64_t cores = 0;          // that the ranks of an innermost level take turns on; 0: each has its own device
  double memory_bus = 0;      // bytes/s that these ranks reach together; 0: each has its own memory
  double thread_share = 1;    // of a core's speed that each further core adds to a rank that has several
  Curve thread_shares;        // the same by the seconds that a call takes on one core; empty: `thread_share` of all
  double busy_share = 1;      // of a core's speed that is left while all others are busy
  /// Keys of a cluster file whose values were fitted to measurements, as "software.host_overhead".
  std::vector<std::string> fitted;

  /// All of them: the product of the sizes of the levels.
  int64_t ranks() const;
  /// That take turns on one core, less than 1 where each has several.
  double ranks_per_core() const;
  /// Seconds of a step of so many ranks that no kernel accounts for.
  double overhead_of_step(int64_t busy_ranks) const {
    return software.step_overhead + (busy_ranks > 1 ? software.rank_overhead : 0);
  }
  /// The device as a rank finds it while all are busy: cores that it takes turns on, or has several of.
  DeviceSpec rank_device() const;
  bool operator==(const Cluster&) const = default;
};

/// Returns the cluster with the rate of f32 products that keep all of their bits.
Cluster without_tf32(Cluster cluster);

/// Throws InvalidArgument "[cluster] bad KEY, got .., expected .." unless every number is in its range.
void verify(const Cluster& cluster);

/// The same machines for `ranks` ranks: levels shrink from the outermost on, to whole parts, so that there can be a few
/// ranks more than asked for. Ranks that take turns on cores can be more than the cluster has, too: the outermost level
/// grows. Throws InvalidArgument for other numbers of ranks.
Cluster resized(Cluster cluster, int64_t ranks);

}  // namespace partita
