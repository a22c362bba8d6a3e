#pragma once
// exp and tanh in f32 without branches, so that loops over them vectorise; f64 takes the library's.

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace partita {

/// Within 2 units in the last place; 0 where the result would be denormal.
inline float exp_of(float x) {
  constexpr float kLog2E = 1.44269504f, kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;
  constexpr float kRound = 12582912.f;  // 1.5 * 2^23: adding it rounds to an integer
  constexpr float kLeast = -87.3365f, kMost = 88.72f;
  const float inside = x < kLeast ? kLeast : x > kMost ? kMost : x;
  const float shifted = inside * kLog2E + kRound;
  const float power = shifted - kRound;
  const float rest = inside - power * kLn2High - power * kLn2Low;
  float series = 1.9875691500e-4f;
  series = series * rest + 1.3981999507e-3f;
  series = series * rest + 8.3334519073e-3f;
  series = series * rest + 4.1665795894e-2f;
  series = series * rest + 1.6666665459e-1f;
  series = series * rest + 5.0000001201e-1f;
  series = series * rest * rest + rest + 1;
  // 2^power in two factors: 2^128 alone is not a number.
  const int32_t whole = std::bit_cast<int32_t>(shifted) - std::bit_cast<int32_t>(kRound), half = whole >> 1;
  const float scale = std::bit_cast<float>((half + 127) << 23), rest_scale = std::bit_cast<float>((whole - half + 127) << 23);
  const float result = series * scale * rest_scale;
  const float upper = x > kMost ? std::numeric_limits<float>::infinity() : result;
  return x < kLeast ? 0 : x != x ? x : upper;
}
inline double exp_of(double x) { return std::exp(x); }

/// Within 3 units in the last place: a polynomial near 0, where 1 - 2 / (e^2x + 1) cancels.
inline float tanh_of(float x) {
  const float size = std::abs(x), square = x * x;
  float series = -5.70498872745e-3f;
  series = series * square + 2.06390887954e-2f;
  series = series * square - 5.37397155531e-2f;
  series = series * square + 1.33314422036e-1f;
  series = series * square - 3.33332819422e-1f;
  const float near = series * square * x + x;
  const float far = std::copysign(1 - 2 / (exp_of(2 * size) + 1), x);
  return size < 0.625f ? near : far;
}
inline double tanh_of(double x) { return std::tanh(x); }

}  // namespace partita
