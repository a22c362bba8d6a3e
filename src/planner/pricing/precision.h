#pragma once
// The precision of the numbers of a training.

#include "base/dtype.h"

namespace partita {

/// Bytes per element of a training. Values of non-float types keep their own size.
struct Precision {
  DType compute = DType::f32;                       // type of activations and kernel operands
  double activation = 4, weight = 4, gradient = 4;  // bytes
  double master = 0;                                // bytes of the master copy of a parameter; 0: no copy
  double state = 4;                                 // bytes of an optimizer state
  /// The precision for a compute type. f32 and f64 use the same type for everything. 16-bit types use f32 gradients,
  /// masters and optimizer states, as usual in mixed precision (Micikevicius et al., 2018).
  static Precision of(DType dtype);
};

}  // namespace partita
