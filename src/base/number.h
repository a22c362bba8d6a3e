#pragma once
// Single numbers of any element type.

#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/dtype.h"

namespace partita {

/// Whether `value` is NaN; always false for integers.
template <class T>
bool is_nan(T value) {
  if constexpr (std::is_integral_v<T>)
    return false;
  else
    return std::isnan(static_cast<std::conditional_t<std::is_same_v<T, double>, double, float>>(value));
}

/// Returns a variance with a value below zero, left by rounding, replaced by zero. A NaN stays NaN.
inline double not_below_zero(double variance) { return variance < 0 ? 0 : variance; }

/// Converts a number to another type. Floats round once, to nearest even. Integer types clamp to their range, drop the
/// fraction and map NaN to 0. bool is true for every nonzero value, NaN included.
template <class To, class From>
To convert(From value) {
  if constexpr (std::is_same_v<To, bool>) {
    if constexpr (std::is_integral_v<From>)
      return value != 0;
    else
      return static_cast<double>(value) != 0;
  } else if constexpr (std::is_integral_v<To> && std::is_integral_v<From>) {
    if constexpr (std::is_same_v<From, bool>)
      return static_cast<To>(value);
    else if (std::in_range<To>(value))
      return static_cast<To>(value);
    else
      return value < From{} ? std::numeric_limits<To>::min() : std::numeric_limits<To>::max();
  } else if constexpr (std::is_integral_v<To>) {
    const double number = static_cast<double>(value);
    if (std::isnan(number)) return To{};
    if (number <= static_cast<double>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
    if (number >= static_cast<double>(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
    return static_cast<To>(number);
  } else {
    return static_cast<To>(value);
  }
}

}  // namespace partita
