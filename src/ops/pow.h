#pragma once
// Powers with a constant exponent.

#include <cmath>
#include <limits>

#include "base/fields.h"

namespace partita {

struct PowAttrs {
  double exponent = 2;
  static constexpr auto fields() { return std::tuple{field("exponent", &PowAttrs::exponent)}; }
};

/// As std::pow, except that no NaN becomes 1 and that every negative number has no fractional power.
inline double power_of(double x, double exponent) {
  const bool undefined = x < 0 && exponent != std::floor(exponent);
  return std::isnan(x) || undefined ? std::numeric_limits<double>::quiet_NaN() : std::pow(x, exponent);
}

}  // namespace partita
