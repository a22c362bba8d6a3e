#pragma once
// The costs of the layers of a network on one rank, from the program that the rank would run.

#include "planner/cluster/compute_seconds.h"
#include "planner/cluster/place.h"
#include "planner/pricing/layers/layer_memory.h"
#include "planner/pricing/layers/seconds_by_kind.h"

namespace partita {

/// The costs of a forward or backward pass on one rank. Communication is exposed except for the share that the software
/// overlaps.
struct SectionCosts {
  double flops = 0;    // floating-point operations
  double compute = 0;  // seconds in kernels
  double waiting = 0;  // seconds of waiting for the host to issue the next kernel
  SecondsByKind communication{};

  /// Seconds of computation, waiting and communication together.
  double seconds() const;
  /// Removes the `share` of communication that computation can hide, but no more than takes as long as the computation.
  /// Sets `waiting` to the time by which the `issuing` seconds of the host exceed the computation and the remaining
  /// communication together, at least 0.
  void overlap(double share, double issuing);
  /// Adds `times` times the costs of `other`.
  void add(const SectionCosts& other, double times = 1);
};

/// The costs of a unit of layers (ir/work/repeated_layers.h) on one rank, before optimizer sharding and without the
/// messages among the ranks that share the batch.
struct UnitCosts {
  SectionCosts forward, backward;  // costs of a micro-batch; backward includes recomputation
  /// Seconds once per step, after all micro-batches: sums of parameters' gradients over the ranks that share the rows.
  SecondsByKind late{};
  double backward_weights = 0;  // part of the seconds of `backward` that makes only gradients of parameters
  double parameters = 0;        // elements on a rank
  double largest = 0;           // elements of the largest parameter
  double tied = 0;              // elements of parameters that earlier units own
  double lent = 0;              // elements of its own parameters that later units use, too
  double optimizer = 0;         // elements of optimizer states
  /// Parts of `parameters` and `optimizer` that belong to small parameters, which this library's optimizer sharding
  /// leaves whole.
  double small_parameters = 0, small_optimizer = 0;
  double kept = 0;      // bytes that a micro-batch keeps from forward to backward
  double boundary = 0;  // bytes of a micro-batch that cross from earlier units to this or later ones
  double handed = 0;    // part of `boundary` that earlier units keep only for this and later ones
  /// Adds `times` times the costs of `other`, except for `boundary` and `handed`.
  void add(const UnitCosts& other, double times = 1);
  /// Seconds of a micro-batch, without those of `late`.
  double seconds() const { return forward.seconds() + backward.seconds(); }
  /// Elements that each of `ranks` ranks has if they share those of large parameters.
  double parameters_of_rank(double ranks) const { return small_parameters + (parameters - small_parameters) / ranks; }
  double optimizer_of_rank(double ranks) const { return small_optimizer + (optimizer - small_optimizer) / ranks; }
};

/// The costs of the units of a folded graph, one copy of each.
struct LayerCosts {
  std::vector<UnitCosts> units;
  std::vector<UnitBackward> backward;  // by unit
  double gathered = 0;                 // bytes of the largest value that is gathered again in the backward pass
  double workspace = 0;                // peak bytes of a micro-batch in addition to what is kept
  double inputs = 0;                   // bytes of a micro-batch's rows
};

/// The kernels, messages and states on the ranks that share the same rows, for any number of rows in a micro-batch.
class LoweredLayers {
 public:
  /// The request need not outlive this object.
  explicit LoweredLayers(const LoweringRequest& request);
  /// The costs for a micro-batch of `micro_batch` rows. `ranks` is the mesh of all ranks that work at once; its axes
  /// that share the rows have the names of the program. Throws InvalidArgument if the mesh lacks such an axis or the
  /// cluster has too few ranks.
  LayerCosts costs(int64_t micro_batch, const Cluster& cluster, const Mesh& ranks) const;

 private:
  explicit LoweredLayers(const LayerValues& values);

  friend class LayerLowering;
  struct Kernel {
    size_t unit = 0;
    bool backward = false, weights = false;  // weights: makes only gradients of parameters
    Work work;                               // work for the lowered rows, without its bytes
    PerRow bytes;
    double Work::*scaled = nullptr;  // size of a product that is proportional to the rows
    Growth growth = Growth::none;    // how its operations grow with the rows
    bool recomputed = false;         // whether it is recomputation
    double factor = 1;               // factor on bytes and operations in this software
  };
  struct Message {
    size_t unit = 0;
    bool backward = false, late = false;
    Collective kind = Collective::all_reduce;
    PerRow bytes;
    size_t axes = 0;          // index in `axes_`
    bool recomputed = false;  // whether it is recomputation
    DType dtype = DType::f32;
  };
  /// Seconds on the device, and the number of kernels that the host issues.
  struct KernelCosts {
    double seconds = 0;
    int64_t kernels = 1;
  };
  KernelCosts costs_of(const Kernel& kernel, const Work& work, const Cluster& cluster, const DeviceSpec& device) const;

  std::vector<Kernel> kernels_;
  std::vector<Message> messages_;
  std::vector<std::vector<std::string>> axes_;  // names of the axes of messages; each list once
  std::vector<UnitCosts> states_;               // per unit: only elements of parameters and optimizer states
  LayerMemory memory_;
  LoweredRows rows_;  // unit of all PerRow above
};

}  // namespace partita
