#pragma once
// Four f64 numbers in a register, or in two where registers are smaller (a GCC vector, which clang has, too).

#include <cstdint>
#include <cstring>

namespace partita {

using Vector = double __attribute__((vector_size(32)));
inline constexpr int64_t kLanes = sizeof(Vector) / sizeof(double);

/// From and to any address of a double: what compilers make of these copies is one instruction.
inline Vector load_vector(const double* from) {
  Vector vector;
  std::memcpy(&vector, from, sizeof(vector));
  return vector;
}
inline void store_vector(const Vector& vector, double* to) { std::memcpy(to, &vector, sizeof(vector)); }

}  // namespace partita
