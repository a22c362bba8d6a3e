#pragma once
// Four f64 numbers in a register, or in two where registers are smaller (a GCC vector, which clang has, too).

#include <cstdint>

namespace partita {

using Vector = double __attribute__((vector_size(32)));
inline constexpr int64_t kLanes = sizeof(Vector) / sizeof(double);

/// From and to any address of a double.
inline Vector load_vector(const double* from) {
  using Unaligned = double __attribute__((vector_size(32), aligned(8), may_alias));
  return *reinterpret_cast<const Unaligned*>(from);
}
inline void store_vector(const Vector& vector, double* to) {
  using Unaligned = double __attribute__((vector_size(32), aligned(8), may_alias));
  *reinterpret_cast<Unaligned*>(to) = vector;
}

}  // namespace partita
