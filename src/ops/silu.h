#pragma once
// The sigmoid linear unit (Hendrycks and Gimpel, 2016), also called swish.

#include <cmath>

namespace partita {

inline double silu_of(double x) { return x / (1 + std::exp(-x)); }

inline double silu_slope(double x) {
  const double gate = 1 / (1 + std::exp(-x));
  return gate * (1 + x * (1 - gate));
}

}  // namespace partita
