#include "base/special_functions.h"

#include <gtest/gtest.h>

#include <limits>
#include <numbers>

#include "base/philox.h"

namespace partita {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Expects two numbers to be equal but for a share of the larger one.
void expect_close(double got, double expected, double share, double at) {
  EXPECT_NEAR(got, expected, share * std::max(1.0, std::abs(expected))) << "at " << at;
}

TEST(SpecialFunctions, KnownValues) {
  constexpr double kZetaOf3 = 1.2020569031595942;
  const double gamma = std::numbers::egamma, pi = std::numbers::pi;
  expect_close(digamma_of(1.0), -gamma, 1e-14, 1);
  expect_close(digamma_of(0.5), -gamma - 2 * std::numbers::ln2, 1e-14, 0.5);
  expect_close(digamma_of(-0.5), 2 - gamma - 2 * std::numbers::ln2, 1e-14, -0.5);
  expect_close(polygamma_of(1, 1.0), pi * pi / 6, 1e-14, 1);
  expect_close(polygamma_of(1, 0.5), pi * pi / 2, 1e-14, 0.5);
  expect_close(polygamma_of(2, 1.0), -2 * kZetaOf3, 1e-14, 1);
  expect_close(polygamma_of(3, 1.0), std::pow(pi, 4) / 15, 1e-14, 1);
  expect_close(lgamma_of(-1.5), std::log(4 * std::sqrt(pi) / 3), 1e-14, -1.5);
}

TEST(SpecialFunctions, Edges) {
  EXPECT_EQ(digamma_of(0.0), -kInfinity);
  EXPECT_EQ(digamma_of(-0.0), kInfinity);
  EXPECT_TRUE(std::isnan(digamma_of(-3.0)));
  EXPECT_EQ(digamma_of(kInfinity), kInfinity);
  EXPECT_EQ(polygamma_of(1, -2.0), kInfinity);
  EXPECT_TRUE(std::isnan(polygamma_of(2, -2.0)));
  EXPECT_EQ(polygamma_of(1, kInfinity), 0);
  EXPECT_EQ(erfinv_of(1.0), kInfinity);
  EXPECT_EQ(erfinv_of(-1.0), -kInfinity);
  EXPECT_TRUE(std::isnan(erfinv_of(1.5)));
  EXPECT_TRUE(std::isnan(erfinv_of(std::nan(""))));
  EXPECT_EQ(erfinv_of(0.0), 0);
  EXPECT_EQ(lgamma_of(-1.0), kInfinity);
}

TEST(SpecialFunctions, InverseOfTheErrorFunction) {
  for (int64_t i = 0; i < 2000; ++i) {
    const double y = 5.5 * (2 * uniform_of(random_word(45, i, 0)) - 1);
    // Near 1 the error function itself has lost digits of y.
    const double lost = 2e-16 / (2 * std::numbers::inv_sqrtpi * std::exp(-y * y));
    EXPECT_NEAR(erfinv_of(std::erf(y)), y, 4e-15 + lost) << y;
    const double tiny = y * 1e-200;
    expect_close(erfinv_of(tiny) / tiny, 0.88622692545275801, 1e-14, tiny);
  }
}

TEST(SpecialFunctions, PolygammasKeepTheirRecurrence) {
  for (int64_t i = 0; i < 500; ++i) {
    const double x = 30 * (2 * uniform_of(random_word(46, i, 0)) - 1);
    if (std::abs(x - std::nearbyint(x)) < 0.05) continue;  // the terms cancel near a pole
    expect_close(digamma_of(x + 1), digamma_of(x) + 1 / x, 1e-12, x);
    for (int order = 1; order <= 6; ++order) {
      const double step = std::tgamma(order + 1) * std::pow(x, -(order + 1)) * (order % 2 == 0 ? 1 : -1);
      const double value = polygamma_of(order, x), next = polygamma_of(order, x + 1);
      EXPECT_NEAR(next, value + step, 1e-10 * std::max({1.0, std::abs(value), std::abs(step)})) << order << " at " << x;
    }
  }
}

}  // namespace
}  // namespace partita
