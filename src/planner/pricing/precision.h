#pragma once
// How many bytes the numbers of a training take.

#include "base/dtype.h"

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

}  // namespace partita
