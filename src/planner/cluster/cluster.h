#pragma once
// Description of the devices that a plan is priced for; nobody needs to have them. All units are bytes, seconds, bytes
// per second and floating-point operations per second. Constants describe hardware and its libraries, never a model.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/collective_algorithm.h"
#include "base/dtype.h"
#include "base/names.h"
#include "ir/work/work.h"

namespace partita {

/// A point of an efficiency curve: the share of a maximal rate that work of this size reaches.
struct CurvePoint {
  double size = 1;
  double share = 1;
  bool operator==(const CurvePoint&) const = default;
};
/// Points with ascending sizes. Between two points the share is interpolated on logarithms of size and share; outside
/// it is that of the nearest point. From one point to the next the share grows by at most the factor of the sizes, so
/// that more work never takes less time.
using Curve = std::vector<CurvePoint>;

/// The efficiency of a device at one kind of work.
struct Efficiency {
  Curve flops;  // share of the peak, by floating-point operations of a call; empty: 1
  Curve bytes;  // share of the memory bandwidth, by bytes of a call (above 1 in caches); empty: 1
  /// Rows, columns and depth that are added to those of a product before its operations are counted.
  double extra_rows = 0, extra_columns = 0, extra_depth = 0;
  /// Share of the rate above that the product of an unrepeated layer reaches (such as the one before a loss), by its
  /// columns; empty: 1.
  Curve columns;
  bool operator==(const Efficiency&) const = default;
};

/// A measured call of an op: its size, as in Work, and the share that it reached of the peak or of the memory
/// bandwidth, whichever limits its kind of work (`is_compute_bound`).
struct MeasuredCall {
  double flops = 0, bytes = 0, batch = 1, rows = 0, columns = 0, depth = 0;
  double share = 1;
  bool operator==(const MeasuredCall&) const = default;
};

/// The device of one rank.
struct DeviceSpec {
  std::string name;
  std::map<DType, double> peak;  // flop/s of dense products; `peak_of` replaces missing types
  double plain_f32 = 0;          // flop/s of full f32 products if f32 in `peak` means TF32; 0: it does not
  double memory = 0;             // bytes
  double memory_bandwidth = 0;   // bytes/s, read and written together
  double launch_overhead = 0;    // seconds per call
  std::map<WorkKind, Efficiency> efficiency;
  /// Efficiency of single ops, by name; replaces that of their kind.
  std::map<std::string, Efficiency, std::less<>> op_efficiency;
  /// Factor on the seconds of some ops, by name; else 1.
  std::map<std::string, double, std::less<>> op_factor;
  /// Measured calls of single ops, by name; they replace the efficiencies and factors above. Shares of other sizes are
  /// interpolated; the nearest calls have the largest weights.
  std::map<std::string, std::vector<MeasuredCall>, std::less<>> measured;
  bool operator==(const DeviceSpec&) const = default;
};

/// A protocol of the collective library, such as one of low latency or one of high bandwidth.
struct LinkProtocol {
  std::string name;
  double overhead = 0;         // seconds per collective
  double bandwidth_share = 1;  // share of a link's bandwidth
  double max_bandwidth = 0;    // maximum in bytes/s of all links of a part together; 0: no limit
  bool operator==(const LinkProtocol&) const = default;
};

/// One level of links. It connects `size` parts; each part is a whole inner level, or a rank at the innermost level.
struct LinkLevel {
  std::string name;
  int64_t size = 1;
  double bandwidth = 0;              // bytes/s of one link in one direction; a rank uses one link at a time
  int64_t links = 1;                 // links of each part (network adapters of a node), shared by its ranks
  std::vector<double> latency;       // seconds of a step, by protocol
  std::vector<double> tree_latency;  // seconds of a step in a tree, by protocol; empty: `latency`
  double total_bandwidth = 0;        // bytes/s through the whole level at once (a bus, a switch); 0: no limit
  double reduce_bandwidth = 0;       // bytes/s of a rank if the switch reduces; 0: it does not
  double copy_bandwidth = 0;         // bytes/s at which a rank copies its own buffer in addition to sending; 0: free
  /// Share of its link that a rank can use in a group of 2, 3, .. `size` members, for parts that are not all wired to
  /// each other; empty: 1.
  std::vector<double> share_by_members;
  bool operator==(const LinkLevel&) const = default;
};

/// Costs of attention whose scores lie in memory, for frameworks without a fused kernel. Bytes are for 16-bit numbers.
struct ScoreCosts {
  double forward_bytes = 0, backward_bytes = 0;  // bytes that the kernels move per score
  double kept_bytes = 0;                         // bytes kept per score, from the forward pass to the backward pass
  int64_t kernels = 0;        // kernels of a forward pass; a backward pass has twice as many; 0: one fused kernel
  int64_t group = 0;          // divisor of the number of score matrices for which a softmax is one kernel
  int64_t split_kernels = 0;  // additional kernels of a softmax if `group` does not divide that number
  bool operator==(const ScoreCosts&) const = default;
};

/// Measured speed of collectives among some ranks of one innermost level, as a share of the speed that the links
/// suggest, by bytes.
struct GroupShares {
  int64_t ranks = 2;
  Curve shares;
  bool operator==(const GroupShares&) const = default;
};

/// The name of the software of this library, whose programs a training runs.
inline constexpr std::string_view kOwnSoftware = "partita";

/// Costs that the software adds to kernels and messages.
struct SoftwareCosts {
  std::string name{kOwnSoftware};
  /// The algorithms with which the library reduces and gathers. A price uses the fastest one, and of those of this
  /// project's runtime the one that runs.
  std::vector<CollectiveAlgorithm> algorithms = {CollectiveAlgorithm::ring};
  double step_overhead = 0;  // seconds of a training step that no kernel accounts for
  double rank_overhead = 0;  // further seconds of a step of several ranks, whose cores also read rows
  double host_overhead = 0;  // seconds for the host to issue a kernel; hidden if the device takes longer
  double rank_skew = 0;      // seconds that a collective of a layer waits for each of its ranks but the first
  /// Seconds that a core takes to switch to another rank; a collective of the runtime waits for it for each rank of a
  /// host that has no core of its own.
  double switch_overhead = 0;
  double transfer_overhead = 0;         // seconds of a transfer between stages, in addition to the message
  double product_overlap = 0;           // share of a layer's own collectives that its products can hide
  bool reduces_after_backward = false;  // gradients are reduced after the backward pass instead of overlapped with it
  /// From level 2 of optimizer sharding on, gradients of one of several micro-batches are reduced overlapped with later
  /// computation.
  bool overlaps_micro_batches = false;
  bool prefetches_parameters = false;  // parameters updated in parts are gathered overlapped with the next forward pass
  /// Recomputation runs the whole layer, not only what the backward pass reads, and results read by other layers are
  /// kept.
  bool recomputes_whole = false;
  bool waits_for_transfers = false;  // a stage computes nothing while it receives from another stage
  bool regathers = false;       // values gathered by a layer are gathered again in the backward pass instead of kept
  bool joins_products = false;  // products with a common operand are merged; their gradients need no sums
  /// Gradients have their own memory even with one micro-batch, and 16-bit parameters are kept next to masters, which
  /// ranks share as they do states of the optimizer. Else masters are the parameters.
  bool keeps_gradients = false;
  int64_t channel_block = 0;  // block size of channels of images in memory; 0: not blocked
  double mask_bytes = 0;      // bytes kept per element of a sum of activations, for the mask of its dropout
  ScoreCosts scores;
  std::vector<std::string> fused;  // ops of a graph that are fused into other kernels
  /// Factor on the bytes and operations of an op of a graph, by name; else 1.
  std::map<std::string, double, std::less<>> op_factor;
  double overlap_slowdown = 1;              // factor on the time of computation while a collective overlaps it
  double tree_share = 1;                    // share of the links' bandwidth that reductions over trees reach
  std::map<Collective, double> link_share;  // share of the links' bandwidth per kind of collective; else 1
  /// Measured kinds. The numbers of ranks ascend; between them shares are interpolated as in a Curve.
  std::map<Collective, std::vector<GroupShares>> measured;
  int64_t messages_at_once = 8;  // concurrent messages of a rank in an all-to-all
  bool operator==(const SoftwareCosts&) const = default;
};

struct Cluster {
  std::string name;
  DeviceSpec device;
  std::vector<LinkLevel> levels;  // innermost first
  std::vector<LinkProtocol> protocols;
  SoftwareCosts software;
  double reserve_memory = 0;  // bytes of each device that are not for tensors
  int64_t cores = 0;          // cores that the ranks of an innermost level share; 0: each rank has its own device
  double memory_bus = 0;      // bytes/s that these ranks reach together; 0: each has its own memory
  double thread_share = 1;    // share of a core's speed that each further core adds to a rank with several cores
  Curve thread_shares;        // `thread_share` by the seconds of a call on one core; empty: the same for all calls
  double busy_share = 1;      // share of a core's speed that is left while all other cores are busy
  /// Keys of a cluster file whose values were fitted to measurements, such as "software.host_overhead".
  std::vector<std::string> fitted;

  /// Number of ranks: the product of the sizes of the levels.
  int64_t ranks() const;
  /// Number of ranks per core; less than 1 if each rank has several cores, and 1 if each has its own device.
  double ranks_per_core() const;
  /// Seconds of a step of `busy_ranks` ranks that no kernel accounts for.
  double overhead_of_step(int64_t busy_ranks) const {
    return software.step_overhead + (busy_ranks > 1 ? software.rank_overhead : 0);
  }
  /// Returns the device as one rank sees it while all ranks are busy: with its share of the cores and of the memory
  /// bus. If ranks do not share cores, it is `device`.
  DeviceSpec rank_device() const;
  bool operator==(const Cluster&) const = default;
};

/// Returns the cluster with f32 products at their full precision (`plain_f32`) instead of TF32; the same cluster if
/// `plain_f32` is 0.
Cluster without_tf32(Cluster cluster);

/// Checks every field of a cluster, and fields against each other. Throws InvalidArgument "[cluster] KEY: .., got ..,
/// expected .." for the first that is wrong.
void verify(const Cluster& cluster);

/// Returns how many ranks `resized` gives a cluster at most: kMaxMeshRanks if ranks share cores, else those it has.
int64_t max_ranks(const Cluster& cluster);
/// Returns the same machines for `ranks` ranks. Levels shrink to whole parts from the outermost on, so the result can
/// have a few more ranks than asked for. If ranks share cores, `ranks` may exceed those of the cluster: then the
/// outermost level grows. Throws InvalidArgument if `ranks` is below 1, or above those of the cluster or, if ranks
/// share cores, above kMaxMeshRanks.
Cluster resized(Cluster cluster, int64_t ranks);

}  // namespace partita
