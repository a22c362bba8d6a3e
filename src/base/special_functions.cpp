#include "base/special_functions.h"

#include <array>
#include <limits>
#include <numbers>
#include <vector>

#include "base/error.h"

namespace partita {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// From here on the asymptotic series have all digits of a double.
constexpr double kFar = 15;
/// B(2), B(4), .. of Bernoulli's numbers.
constexpr std::array<double, 8> kBernoulli = {1.0 / 6,  -1.0 / 30,       1.0 / 42, -1.0 / 30,
                                              5.0 / 66, -691.0 / 2730.0, 7.0 / 6,  -3617.0 / 510};

/// Returns x less the integer that is nearest.
double fraction(double x) { return x - std::nearbyint(x); }

/// Returns the cotangent of pi x, which is infinite at integers.
double cotangent(double x) {
  const double rest = fraction(x);
  return std::abs(rest) == 0.5 ? 0 : 1 / std::tan(std::numbers::pi * rest);
}

/// Returns the polygamma of x > 0: x is moved far out by the recurrence, and the rest is the asymptotic series
/// (Abramowitz and Stegun, 1964, formulas 6.4.6 and 6.4.11), all divided by (-1)^(order + 1) (order - 1)!.
double polygamma_of_positive(int order, double x) {
  double sum = 0;
  for (; x < kFar + order; x += 1) sum += order * std::pow(x, -(order + 1));
  const double power = std::pow(x, -order), square = 1 / (x * x);
  double series = power * (1 + order / (2 * x)), factor = power;
  for (size_t k = 0; k < kBernoulli.size(); ++k) {
    const double twice = 2 * static_cast<double>(k + 1);
    // (order + twice - 1)! / (twice! (order - 1)!) x^-(order + twice), from the one before
    factor *= (order + twice - 1) * (order + twice - 2) / (twice * (twice - 1)) * square;
    series += kBernoulli[k] * factor;
  }
  return std::tgamma(order) * (sum + series) * (order % 2 == 1 ? 1 : -1);
}

/// Returns the derivative of an order of pi cot(pi x): a polynomial of c = cot(pi x), since c' = -pi (1 + c^2).
double cotangent_derivative(int order, double x) {
  std::vector<double> factors = {0, std::numbers::pi};  // lowest power first
  for (int n = 0; n < order; ++n) {
    std::vector<double> next(factors.size() + 1, 0.0);
    for (size_t k = 1; k < factors.size(); ++k) {
      const double slope = -std::numbers::pi * static_cast<double>(k) * factors[k];
      next[k - 1] += slope;
      next[k + 1] += slope;
    }
    factors = std::move(next);
  }
  const double c = cotangent(x);
  double sum = 0;
  for (size_t k = factors.size(); k-- > 0;) sum = sum * c + factors[k];
  return sum;
}

}  // namespace

double lgamma_of(double x) {
  int sign = 0;
  return ::lgamma_r(x, &sign);
}

double erfinv_of(double x) {
  const double size = std::abs(x);
  if (!(size < 1)) return size == 1 ? std::copysign(kInfinity, x) : kNan;
  if (x == 0) return x;
  // S. Winitzki's approximation (2008), which has two digits, and Halley's method, which triples them.
  constexpr double kShape = 0.147;
  const double logarithm = std::log1p(-size * size);
  const double half = 2 / (std::numbers::pi * kShape) + logarithm / 2;
  double y = std::sqrt(std::sqrt(half * half - logarithm / kShape) - half);
  if (size < 1e-6) y = size * 0.88622692545275801;
  for (int step = 0; step < 3; ++step) {
    const double error = size < 0.5 ? std::erf(y) - size : (1 - size) - std::erfc(y);
    const double quotient = error / (2 * std::numbers::inv_sqrtpi * std::exp(-y * y));
    y -= quotient / (1 + y * quotient);
  }
  return std::copysign(y, x);
}

double digamma_of(double x) {
  if (x == 0) return -std::copysign(kInfinity, x);
  if (x < 0) {
    if (fraction(x) == 0 || std::isinf(x)) return kNan;
    return digamma_of(1 - x) - std::numbers::pi * cotangent(x);
  }
  double sum = 0;
  for (; x < kFar; x += 1) sum -= 1 / x;
  // Abramowitz and Stegun, formula 6.3.18.
  const double square = 1 / (x * x);
  double series = 0, power = square;
  for (size_t k = 0; k < kBernoulli.size(); ++k) {
    series += kBernoulli[k] / (2 * static_cast<double>(k + 1)) * power;
    power *= square;
  }
  return std::log(x) - 0.5 / x - series + sum;
}

double polygamma_of(int order, double x) {
  PARTITA_CHECK(order >= 1, "an order of {}", order);
  if (std::isnan(x)) return x;
  if (std::isinf(x)) return x > 0 ? (order % 2 == 1 ? 0.0 : -0.0) : kNan;
  const bool is_pole = x <= 0 && fraction(x) == 0;
  if (is_pole) return order % 2 == 1 ? kInfinity : kNan;
  if (x > 0) return polygamma_of_positive(order, x);
  // The reflection (Abramowitz and Stegun, formula 6.4.7).
  const double mirrored = polygamma_of_positive(order, 1 - x);
  return (order % 2 == 0 ? mirrored : -mirrored) - cotangent_derivative(order, x);
}

}  // namespace partita
