#pragma once
// Four f64 numbers in one register, or in two smaller ones (a vector type of GCC and clang).

#include <cstdint>
#include <cstring>

namespace partita {

using Vector = double __attribute__((vector_size(32)));
inline constexpr int64_t kLanes = sizeof(Vector) / sizeof(double);

/// Load and store at any address of a double. Compilers turn these copies into one instruction.
inline Vector load_vector(const double* from) {
  Vector vector;
  std::memcpy(&vector, from, sizeof(vector));
  return vector;
}
inline void store_vector(const Vector& vector, double* to) { std::memcpy(to, &vector, sizeof(vector)); }

}  // namespace partita
