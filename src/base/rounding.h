#pragma once
// Rounding of a float or double to the digits of a 16-bit float, kept in its own type. Without branches, so that loops
// over it vectorize.

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace partita {

/// A 16-bit float: digits after the first one, and the exponents of its smallest and its largest normal numbers.
struct HalfFormat {
  int digits, min_exponent, max_exponent;
};
inline constexpr HalfFormat kBf16{.digits = 7, .min_exponent = -126, .max_exponent = 127};
inline constexpr HalfFormat kF16{.digits = 10, .min_exponent = -14, .max_exponent = 15};

/// Returns 2^exponent, a normal number of T.
template <class T>
constexpr T power_of_two(int exponent) {
  using Bits = std::conditional_t<std::is_same_v<T, double>, uint64_t, uint32_t>;
  constexpr int kDigits = std::numeric_limits<T>::digits - 1;
  return std::bit_cast<T>(static_cast<Bits>(exponent + std::numeric_limits<T>::max_exponent - 1) << kDigits);
}

/// Returns the number of `kDigits` digits after the first one that is nearest to a finite, normal `x`; of two equally
/// near ones that with an even last digit.
template <int kDigits, class T>
T with_digits(T x) {
  using Bits = std::conditional_t<std::is_same_v<T, double>, uint64_t, uint32_t>;
  constexpr int kDropped = std::numeric_limits<T>::digits - 1 - kDigits;
  constexpr Bits kUnit = Bits{1} << kDropped;
  const Bits bits = std::bit_cast<Bits>(x);
  return std::bit_cast<T>((bits + (kUnit / 2 - 1) + ((bits >> kDropped) & 1)) & ~(kUnit - 1));
}

/// Returns the bits of the bf16 nearest to the float with these bits, of two equally near ones that with an even last
/// digit. NaN stays NaN.
inline uint16_t bf16_bits(uint32_t word) {
  const uint32_t rounded = (word + 0x7fff + ((word >> 16) & 1)) >> 16;
  const uint32_t quiet_nan = (word >> 16) | 0x40;
  return static_cast<uint16_t>((word & 0x7fffffff) > 0x7f800000 ? quiet_nan : rounded);
}

/// Returns the number of the format that is nearest to `x`, of two equally near ones that with an even last digit.
/// Larger magnitudes become infinity. NaN stays NaN.
template <HalfFormat kFormat, class T>
T round_to(T x) {
  T normal = with_digits<kFormat.digits>(x);
  if constexpr (std::numeric_limits<T>::max_exponent - 1 > kFormat.max_exponent) {
    const T limit = power_of_two<T>(kFormat.max_exponent + 1);
    normal = std::abs(normal) >= limit ? std::copysign(std::numeric_limits<T>::infinity(), x) : normal;
  }
  // Below the smallest normal number the digits end at a fixed unit: adding 1.5 * 2^digits of it rounds there. Floats
  // that are no smaller than those of the format keep the digits that they have.
  T small = x;
  if constexpr (std::numeric_limits<T>::min_exponent - 1 < kFormat.min_exponent) {
    constexpr T kShift =
        T(1.5) * power_of_two<T>(std::numeric_limits<T>::digits - 1 + kFormat.min_exponent - kFormat.digits);
    small = std::copysign((x + kShift) - kShift, x);
  } else {
    small = normal;
  }
  const T result = std::abs(x) < power_of_two<T>(kFormat.min_exponent) ? small : normal;
  return x == x ? result : x;
}

/// Returns the number of 40 digits after the first one that is nearest to `x`; infinity and NaN stay. Numbers that
/// differ only by the order in which parts were added become equal, also where they lie around the middle of two 16-bit
/// numbers, which a mean over 9 elements often does.
inline double without_noise(double x) {
  return std::abs(x) <= std::numeric_limits<double>::max() ? with_digits<40>(x) : x;
}
inline float without_noise(float x) { return x; }

}  // namespace partita
