#pragma once
// Branch-free elementary functions of float and double, so that loops over them vectorize. Those of double, except exp,
// call the library. Formulas of ops call no others, so that they can also be written down (ir/graph/traced.h).

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace partita {

/// Evaluates a polynomial by Horner's rule; factors come highest power first. Unrolled, because an inner loop would
/// keep the outer one from vectorizing.
template <class T, class... Factors>
T polynomial(T x, T highest, Factors... factors) {
  ((highest = highest * x + factors), ...);
  return highest;
}

/// Returns the bits of |x|, which are ordered as the magnitudes are. Comparing floats could trap and would be a branch.
constexpr uint32_t size_bits(float x) { return std::bit_cast<uint32_t>(x) & 0x7fffffffu; }
inline constexpr uint32_t kInfinityBits = 0x7f800000u;

/// Returns `a` if `first`, else `b`, without a branch, which would keep a loop from vectorizing.
inline float chosen(bool first, float a, float b) {
  const uint32_t mask = -static_cast<uint32_t>(first);  // all ones or all zeros
  return std::bit_cast<float>((std::bit_cast<uint32_t>(a) & mask) | (std::bit_cast<uint32_t>(b) & ~mask));
}

/// Computes e^x within 2 units in the last place. Infinity, zero, subnormal numbers and NaN behave as in std::exp.
inline double exp_of(double x) {
  constexpr double kLimit = 746;               // the result is 0 or infinity beyond it
  constexpr double kShift = 6755399441055744;  // 1.5 * 2^52: its unit is 1, so adding it rounds
  constexpr int64_t kInfinite = 0x7ff0000000000000;
  const int64_t size = std::bit_cast<int64_t>(x) & std::numeric_limits<int64_t>::max();
  x = size > std::bit_cast<int64_t>(kLimit) && size <= kInfinite ? std::copysign(kLimit, x) : x;
  const double shifted = x * 1.4426950408889634 + kShift;
  const double power = shifted - kShift;
  // ln 2 in two parts. The product of a power and the first part is exact.
  const double rest = (x - power * 0.69314718036912382) - power * 1.9082149292705877e-10;
  const double sum = polynomial(rest, 1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880,
                                1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1.0, 1.0);
  // Scales in two steps, since 2^power alone may not be representable.
  const int64_t whole = std::bit_cast<int64_t>(shifted) - std::bit_cast<int64_t>(kShift);
  const int64_t half = std::bit_cast<int64_t>(power * 0.5 + kShift) - std::bit_cast<int64_t>(kShift);
  return sum * std::bit_cast<double>((half + 1023) << 52) * std::bit_cast<double>((whole - half + 1023) << 52);
}

/// Computes e^x within 2 units in the last place. Infinity, zero, subnormal numbers and NaN behave as in std::exp.
inline float exp_of(float x) {
  constexpr float kLimit = 104;       // the result is 0 or infinity beyond it
  constexpr float kShift = 12582912;  // 1.5 * 2^23: its unit is 1, so adding it rounds
  x = size_bits(x) > size_bits(kLimit) && size_bits(x) <= kInfinityBits ? std::copysign(kLimit, x) : x;
  const float shifted = x * 1.44269504f + kShift;
  const float power = shifted - kShift;
  // ln 2 in two parts. The product of a power and the first part is exact.
  const float rest = (x - power * 0.693359375f) + power * 2.12194440e-4f;
  const float sum = polynomial(rest, 1.0f / 5040, 1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1.0f, 1.0f);
  // Scales in two steps, since 2^power alone may not be representable.
  const auto whole = std::bit_cast<int32_t>(shifted) - std::bit_cast<int32_t>(kShift);
  const int32_t half = whole >> 1;
  return sum * std::bit_cast<float>((half + 127) << 23) * std::bit_cast<float>((whole - half + 127) << 23);
}

inline double tanh_of(double x) { return std::tanh(x); }

/// Computes tanh within 4 units in the last place. Uses a series near 0, where 1 - exp cancels.
inline float tanh_of(float x) {
  const float size = std::abs(x), square = x * x;
  const float small = exp_of(-2 * size);
  const float far = std::copysign((1 - small) / (1 + small), x);
  const float sum = polynomial(square, -5.70498872745e-3f, 2.06390887954e-2f, -5.37397155531e-2f, 1.33314422036e-1f,
                               -3.33332819422e-1f);
  const float near = x + x * square * sum;
  return chosen(size_bits(x) < size_bits(0.625f), near, far);
}

/// Computes the density of the standard normal distribution.
template <class T>
T normal_density(T x) {
  return exp_of(T(-0.5) * x * x) * static_cast<T>(0.39894228040143268);
}

inline double normal_cdf(double x) { return 0.5 * std::erfc(-x * 0.70710678118654752); }

/// Computes the standard normal distribution function within 1e-7 (Abramowitz and Stegun, 1964, formula 26.2.17).
inline float normal_cdf(float x) {
  const float size = std::abs(x), t = 1 / (1 + 0.2316419f * size);
  const float tail =
      normal_density(size) * t * polynomial(t, 1.330274429f, -1.821255978f, 1.781477937f, -0.356563782f, 0.319381530f);
  return chosen(std::bit_cast<int32_t>(x) < 0, tail, 1 - tail);
}

inline double log1p_of(double x) { return std::log1p(x); }

/// Computes log(1 + x) for 0 <= x <= 1 within 3 units in the last place: 2 artanh(x / (2 + x)) by its series.
inline float log1p_of(float x) {
  const float ratio = x / (2 + x), square = ratio * ratio;
  const float sum = polynomial(square, 1.0f / 15, 1.0f / 13, 1.0f / 11, 1.0f / 9, 1.0f / 7, 1.0f / 5, 1.0f / 3);
  return 2 * (ratio + ratio * square * sum);
}

inline double erf_of(double x) { return std::erf(x); }

/// Computes erf within 3 units in the last place. The polynomials are those of N. Juffa's erff.
inline float erf_of(float x) {
  const float size = std::abs(x), square = x * x;
  const float power = polynomial(size, -1.72853470e-5f, 3.83197126e-4f, -3.88396438e-3f, 2.42546219e-2f,
                                 -1.06777877e-1f, -6.34846687e-1f, -1.28717512e-1f);
  const float far = std::copysign(1 - exp_of(power * size - size), x);
  const float sum = polynomial(square, -5.96761703e-4f, 4.99119423e-3f, -2.67681349e-2f, 1.12819925e-1f,
                               -3.76125336e-1f, 1.28379166e-1f);
  return chosen(size_bits(x) < size_bits(0.927734375f), x + x * sum, far);
}

template <class T>
requires std::is_arithmetic_v<T> T sqrt_of(T x) { return std::sqrt(x); }
template <class T>
requires std::is_arithmetic_v<T> T log_of(T x) { return std::log(x); }
template <class T>
requires std::is_arithmetic_v<T> T abs_of(T x) { return std::abs(x); }
template <class T>
requires std::is_arithmetic_v<T> T max_of(T a, T b) { return std::max(a, b); }
template <class T>
requires std::is_arithmetic_v<T> T min_of(T a, T b) { return std::min(a, b); }
template <class T>
requires std::is_arithmetic_v<T> T pow_of(T x, T exponent) { return std::pow(x, exponent); }
/// Returns `a` if the condition holds, else `b`.
template <class T>
requires std::is_arithmetic_v<T> T select_of(bool condition, T a, std::type_identity_t<T> b) {
  return condition ? a : b;
}

template <class T>
T sigmoid_of(T x) {
  return 1 / (1 + exp_of(-x));
}

}  // namespace partita
