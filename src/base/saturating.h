#pragma once

#include <cstdint>
#include <limits>

namespace partita {

/// Returns a + b of non-negative numbers, or the largest int64_t if the sum is larger.
constexpr int64_t saturating_add(int64_t a, int64_t b) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  return a > kMax - b ? kMax : a + b;
}

/// Returns a * b of non-negative numbers, or the largest int64_t if the product is larger.
constexpr int64_t saturating_mul(int64_t a, int64_t b) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  return b != 0 && a > kMax / b ? kMax : a * b;
}

}  // namespace partita
