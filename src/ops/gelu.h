#pragma once
// The Gaussian error linear unit (Hendrycks and Gimpel, 2016): x times the normal distribution function of x.

#include <cmath>
#include <numbers>

#include "base/fields.h"

namespace partita {

/// `approximate`: with tanh(sqrt(2 / pi) (x + 0.044715 x^3)) instead of the error function, as GPT-2.
struct GeluAttrs {
  bool approximate = false;
  static constexpr auto fields() { return std::tuple{field("approximate", &GeluAttrs::approximate)}; }
};

/// tanh and its argument's derivative of the approximate form are built from these.
inline constexpr double kGeluScale = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;  // sqrt(2 / pi)
inline constexpr double kGeluCube = 0.044715;

inline double gelu_of(double x, bool approximate) {
  if (approximate) return 0.5 * x * (1 + std::tanh(kGeluScale * (x + kGeluCube * x * x * x)));
  return 0.5 * x * std::erfc(-x / std::numbers::sqrt2);
}

inline double gelu_slope(double x, bool approximate) {
  if (approximate) {
    const double t = std::tanh(kGeluScale * (x + kGeluCube * x * x * x));
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * kGeluScale * (1 + 3 * kGeluCube * x * x);
  }
  const double density = std::exp(-0.5 * x * x) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
  return 0.5 * std::erfc(-x / std::numbers::sqrt2) + x * density;
}

}  // namespace partita
