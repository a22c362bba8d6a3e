#pragma once
// The type in which row statistics, losses and sums of 16-bit tensors are kept.

#include <type_traits>

#include "base/dtype.h"

namespace partita {

/// Returns f64 for f64, f32 for all other types.
inline DType wide_type(DType dtype) { return dtype == DType::f64 ? DType::f64 : DType::f32; }

/// Returns the type in which formulas of a type are computed: f32 for 16-bit floats, else the type itself.
inline DType computed_type(DType dtype) { return is_half(dtype) ? DType::f32 : dtype; }

/// The C++ type of `wide_type`.
template <class T>
using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;

}  // namespace partita
