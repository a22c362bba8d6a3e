#pragma once
// What the layers of a network cost on one rank, from the program that the rank would run.

#include "planner/cluster/compute_seconds.h"
#include "planner/cluster/place.h"
#include "planner/pricing/layer_memory.h"
#include "planner/pricing/seconds_by_kind.h"

namespace partita {

/// Seconds of one rank, each communication as if nothing but what the software says overlapped it.
struct SectionCosts {
  double flops = 0;    // floating-point operations
  double compute = 0;  // seconds
  double waiting = 0;  // seconds in which the device waits for the host to issue the next kernel
  SecondsByKind communication{};

  double seconds() const;
  /// Takes away the `share` of the communication that computation hides, and adds what the host needs beyond both.
  void overlap(double share, double issuing);
  void add(const SectionCosts& other, double times = 1);
};

/// What a rank does of a unit of layers (ir/work/repeated_layers.h), before optimizer sharding and without what the
/// ranks that share the batch send to one another.
struct UnitCosts {
  SectionCosts forward, backward;  // of a micro-batch; backward with what it recomputes
  /// Of a step, when all micro-batches are done: sums of parameters' gradients over the ranks that share the rows.
  SecondsByKind late{};
  double backward_weights = 0;  // the seconds of `backward` that lead to gradients of parameters alone
  double parameters = 0;        // elements of a rank
  double tied = 0;              // elements of parameters that units in front own
  double lent = 0;              // elements of own parameters that units behind use, too
  double optimizer = 0;         // elements of the optimizer's states
  double kept = 0;              // bytes that a micro-batch keeps from forward to backward
  double boundary = 0;          // bytes that a micro-batch gets from the units in front
  double handed = 0;            // of these, which the units in front keep only for those behind
  void add(const UnitCosts& other, double times = 1);
};

/// The same for the units of a folded graph, one copy of each.
struct LayerCosts {
  std::vector<UnitCosts> units;
  std::vector<UnitBackward> backward;  // by unit
  double gathered = 0;                 // bytes that are gathered again in the backward, the most at once
  double workspace = 0;                // bytes that a micro-batch takes beside what is kept, the most at once
  double inputs = 0;                   // bytes of a micro-batch's rows
};

/// What the ranks that share one copy of a batch's rows run, apart from how many rows a micro-batch has.
class LoweredLayers {
 public:
  explicit LoweredLayers(const LoweringRequest& request);
  /// `ranks`: all that work at once, the axes of those that share the rows by the names that they have in the program.
  LayerCosts costs(int64_t micro_batch, const Cluster& cluster, const Mesh& ranks) const;

 private:
  LoweredLayers(const LoweringRequest& request, const LayerValues& values);

  friend class LayerLowering;
  struct Kernel {
    size_t unit = 0;
    bool backward = false, weights = false;  // weights: it leads to gradients of parameters alone
    Work work;                               // of one row, without its bytes
    PerRow bytes;
    double Work::*scaled = nullptr;  // the size of a product that grows with the rows
    bool grows = false;              // with the rows
    bool again = false;              // recomputed
    double factor = 1;               // of its bytes and operations, in this software
  };
  struct Message {
    size_t unit = 0;
    bool backward = false, late = false;
    Collective kind = Collective::all_reduce;
    PerRow bytes;
    size_t axes = 0;     // which of `axes_` it goes over
    bool again = false;  // recomputed
  };
  /// Seconds of the device, and how many kernels the host issues.
  struct KernelCosts {
    double seconds = 0;
    int64_t kernels = 1;
  };
  double lowered_rows_ = 1;  // what a row is, of all below
  KernelCosts costs_of(const Kernel& kernel, const Work& work, const Cluster& cluster, const DeviceSpec& device) const;

  std::vector<Kernel> kernels_;
  std::vector<Message> messages_;
  std::vector<std::vector<std::string>> axes_;  // lists of names of axes that messages go over, each once
  std::vector<UnitCosts> states_;               // per unit: elements of states
  LayerMemory memory_;
};

}  // namespace partita
