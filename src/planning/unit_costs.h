#pragma once
// What the layers of a network cost on one rank, from the program that the rank would run.

#include "autodiff/recompute.h"
#include "base/collective.h"
#include "cluster/compute_seconds.h"
#include "cluster/place.h"
#include "graph/rules.h"
#include "lowering/repeated_layers.h"
#include "partition/local_graph.h"

namespace partita {

/// How many bytes the elements of a training take. Values of other types than floats are what they are.
struct Precision {
  DType compute = DType::f32;                       // of activations and of what kernels read
  double activation = 4, weight = 4, gradient = 4;  // bytes
  double master = 0;                                // of a copy of the parameters that is updated, 0: none
  double state = 4;                                 // of the optimizer
  /// f32 and f64 as they are; of 16 bits: f32 gradients and masters, as mixed precision is usually trained
  /// (Micikevicius et al., 2018).
  static Precision of(DType dtype);
};

/// Seconds of one rank, each communication as if nothing but what the software says overlapped it.
struct SectionCosts {
  double flops = 0;    // floating-point operations
  double compute = 0;  // seconds
  double waiting = 0;  // seconds in which the device waits for the host to issue the next kernel
  std::map<Collective, double> communication{};

  double seconds() const;
  /// Takes away the `share` of the communication that computation hides, and adds what the host needs beyond both.
  void overlap(double share, double issuing);
  void add(const SectionCosts& other, double times = 1);
};

/// What a rank does of a unit of layers (lowering/repeated_layers.h), before optimizer sharding and without what the
/// ranks that share the batch send to one another.
struct UnitCosts {
  SectionCosts forward, backward;  // of a micro-batch; backward with what it recomputes
  /// Of a step, when all micro-batches are done: sums of parameters' gradients over the ranks that share the rows.
  std::map<Collective, double> late{};
  double backward_weights = 0;  // the seconds of `backward` that lead to gradients of parameters alone
  double parameters = 0;        // elements of a rank
  double tied = 0;              // elements of parameters that units in front own
  double optimizer = 0;         // elements of the optimizer's states
  double kept = 0;              // bytes that a micro-batch keeps from forward to backward
  double boundary = 0;          // bytes that a micro-batch gets from the units in front
  double handed = 0;            // of these, which the units in front keep only for those behind
  void add(const UnitCosts& other, double times = 1);
};

/// A moment of the backward of a single micro-batch, when activations are going and gradients of parameters come.
struct BackwardMoment {
  double bytes = 0;      // of activations
  double gradients = 0;  // elements
};

/// The same for the units of a folded graph, one copy of each.
struct LayerCosts {
  std::vector<UnitCosts> units;
  std::vector<BackwardMoment> moments;  // of all layers on one rank: those of which one takes most
  double workspace = 0;                 // bytes that a micro-batch takes beside what is kept, the most at once
  double inputs = 0;                    // bytes of a micro-batch's rows
};

/// A number that grows with the rows of a rank's micro-batch.
struct PerRow {
  double fixed = 0, row = 0;
  double at(double rows) const { return fixed + row * rows; }
};

struct LoweringRequest {
  const FoldedGraph& folded;
  const LocalGraph& local;  // of the folded graph's training, in micro-batches of `rows`
  int64_t rows = 1;
  const OpSet& ops;
  const Cluster& cluster;
  Mesh ranks;  // all that work at once: those of `local`, by the same names, and those behind which they repeat
  Precision precision;
  Recompute recompute = Recompute::none;  // that `local` was made with
};

/// What the ranks that share one copy of a batch's rows run, apart from how many rows a micro-batch has.
class LoweredLayers {
 public:
  explicit LoweredLayers(const LoweringRequest& request);
  LayerCosts costs(int64_t micro_batch, const Cluster& cluster) const;

 private:
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
    GroupPlace place;
    bool again = false;  // recomputed
  };
  /// Seconds of the device, and how many kernels the host issues.
  struct KernelCosts {
    double seconds = 0;
    int64_t kernels = 1;
  };
  double lowered_rows_ = 1;  // what a row is, of all below
  /// What of the memory of a micro-batch comes and goes, in the order of the nodes.
  struct Change {
    size_t unit = 0;
    bool backward = false;
    PerRow made, freed;
    double gradients = 0;  // elements that are made
  };
  void weigh_memory(double rows, LayerCosts& costs) const;
  std::vector<BackwardMoment> moments(double rows, double kept) const;
  KernelCosts costs_of(const Kernel& kernel, const Work& work, const Cluster& cluster, const DeviceSpec& device) const;

  std::vector<Kernel> kernels_;
  std::vector<Message> messages_;
  std::vector<Change> changes_;
  std::vector<PerRow> kept_, boundaries_, handed_;  // per unit
  std::vector<PerRow> results_;                     // per unit: of what is recomputed, kept for others
  PerRow inputs_;
  PerRow gathered_;                // the largest value that is gathered again in the backward
  std::vector<UnitCosts> states_;  // per unit: elements of states
  std::vector<double> copies_;     // per unit: of the whole network
};

}  // namespace partita
