#pragma once
// The precision of the numbers of a training.

#include "base/dtype.h"
#include "compiler/autodiff/precision.h"
#include "ir/work/work.h"
#include "planner/cluster/cluster.h"

namespace partita {

/// Bytes per element of a training. Values of non-float types keep their own size.
struct Precision {
  DType compute = DType::f32;                       // type of activations and kernel operands
  double activation = 4, weight = 4, gradient = 4;  // bytes
  double master = 0;                                // bytes of the master copy of a parameter; 0: no copy
  /// Whether ranks share masters as they do states of the optimizer, not as parameters
  /// (`SoftwareCosts::keeps_gradients`).
  bool masters_with_optimizer = true;
  double state = 4;          // bytes of an optimizer state
  double sent_gradient = 4;  // bytes of a gradient that is summed over ranks
  double moved = 4;          // bytes that a kernel reads or writes of an activation, with those of its casts
  double folded = 4;  // bytes of an activation for a kernel that takes and makes 16 bits without casts (`folds_casts`)
  /// Bytes of a parameter that ranks share at level 3 of optimizer sharding alone.
  double parameter() const { return weight + (masters_with_optimizer ? 0 : master); }
  /// Bytes of a parameter that ranks share from level 1 on.
  double shared_master() const { return masters_with_optimizer ? master : 0; }

  /// The precision for a compute type. f32 and f64 use the same type for everything. 16-bit types use f32 gradients,
  /// masters and optimizer states, as usual in mixed precision (Micikevicius et al., 2018).
  static Precision of(DType dtype);
  /// The precision of a rank of the cluster, with gradients sent in `reductions`, unless `dtype` is f64. A device that
  /// specifies no rate of 16-bit products computes in f32 on operands that it casts, and casts the results.
  static Precision on(const Cluster& cluster, DType dtype, ReduceDType reductions);
};

/// Returns a float type of this many bytes, by which the algorithm of a sum over ranks is chosen.
inline DType summed_dtype(double bytes) { return bytes <= 2 ? DType::bf16 : DType::f32; }

/// Whether kernels of this kind take and make 16 bits on every processor: those that the pass `fold_casts` frees of
/// their casts.
bool folds_casts(WorkKind kind);

}  // namespace partita
