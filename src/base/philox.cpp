#include "base/philox.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cmath>
#include <numbers>

namespace partita {
namespace {

uint64_t mix(uint64_t word) {  // finalizer of splitmix64
  word += 0x9e3779b97f4a7c15;
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9;
  word = (word ^ (word >> 27)) * 0x94d049bb133111eb;
  return word ^ (word >> 31);
}

// Computes the inverse normal distribution: P. J. Acklam's rational approximation, refined by one step of Halley's
// method to full double precision.
double inverse_normal(double p) {
  constexpr double a[] = {-3.969683028665376e+01, 2.209460984245205e+02,  -2.759285104469687e+02,
                          1.383577518672690e+02,  -3.066479806614716e+01, 2.506628277459239e+00};
  constexpr double b[] = {-5.447609879822406e+01, 1.615858368580409e+02, -1.556989798598866e+02, 6.680131188771972e+01,
                          -1.328068155288572e+01};
  constexpr double c[] = {-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00,
                          -2.549732539343734e+00, 4.374664141464968e+00,  2.938163982698783e+00};
  constexpr double d[] = {7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00, 3.754408661907416e+00};
  const auto tail = [&](double q) {
    return (((((c[0] * q + c[1]) * q + c[2]) * q + c[3]) * q + c[4]) * q + c[5]) /
           ((((d[0] * q + d[1]) * q + d[2]) * q + d[3]) * q + 1);
  };
  double x = 0;
  if (p < 0.02425) {
    x = tail(std::sqrt(-2 * std::log(p)));
  } else if (p > 1 - 0.02425) {
    x = -tail(std::sqrt(-2 * std::log(1 - p)));
  } else {
    const double q = p - 0.5;
    const double r = q * q;
    x = (((((a[0] * r + a[1]) * r + a[2]) * r + a[3]) * r + a[4]) * r + a[5]) * q /
        (((((b[0] * r + b[1]) * r + b[2]) * r + b[3]) * r + b[4]) * r + 1);
  }
  const double error = 0.5 * std::erfc(-x / std::numbers::sqrt2) - p;
  const double u = error * std::sqrt(2 * std::numbers::pi) * std::exp(x * x / 2);
  return x - u / (1 + x * u / 2);
}

}  // namespace

PhiloxBlock philox(PhiloxBlock counter, uint64_t key) {
  uint32_t k0 = static_cast<uint32_t>(key);
  uint32_t k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53} * counter[0];
    const uint64_t p1 = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(p1 >> 32) ^ counter[1] ^ k0, static_cast<uint32_t>(p1),
               static_cast<uint32_t>(p0 >> 32) ^ counter[3] ^ k1, static_cast<uint32_t>(p0)};
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return counter;
}

PhiloxBlock random_block(uint64_t key, uint64_t block, uint64_t step) {
  return philox({static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32), static_cast<uint32_t>(step),
                 static_cast<uint32_t>(step >> 32)},
                key);
}

uint32_t random_word(uint64_t key, uint64_t element, uint64_t step) {
  return random_block(key, element / 4, step)[element % 4];
}

double uniform_of(uint32_t word) { return ((word >> 8) + 0.5) / 16777216.0; }

double random_normal(uint64_t key, uint64_t element, uint64_t step) {
  const PhiloxBlock block = random_block(key, element / 4, step);
  const size_t pair = (element % 4) / 2 * 2;
  const double radius = std::sqrt(-2 * std::log(uniform_of(block[pair])));
  const double angle = 2 * std::numbers::pi * uniform_of(block[pair + 1]);
  return radius * (element % 2 == 0 ? std::cos(angle) : std::sin(angle));
}

double random_truncated_normal(uint64_t key, uint64_t element, uint64_t step) {
  constexpr double kBelow = 0.022750131948179207;  // P(x < -2)
  const double u = uniform_of(random_word(key, element, step));
  return inverse_normal(kBelow + u * (1 - 2 * kBelow));
}

uint64_t random_key(uint64_t seed, std::string_view scoped_name) {
  return mix(mix(seed) ^ XXH3_64bits(scoped_name.data(), scoped_name.size()));
}

uint64_t random_below(uint64_t key, uint64_t element, uint64_t step, uint64_t bound) {
  const PhiloxBlock block = random_block(key, element / 2, step);
  const size_t first = element % 2 * 2;
  const uint64_t word = (uint64_t{block[first]} << 32) | block[first + 1];
  return static_cast<uint64_t>((static_cast<unsigned __int128>(word) * bound) >> 64);
}

}  // namespace partita
