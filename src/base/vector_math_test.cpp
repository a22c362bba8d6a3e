#include "base/vector_math.h"

#include <gtest/gtest.h>

#include <random>

namespace partita {
namespace {

/// Returns the error in units in the last place of the expected value.
template <class T>
double error_of_exp(T x) {
  const double expected = std::exp(static_cast<double>(x));
  const auto rounded = static_cast<T>(expected);
  const T unit = std::nextafter(rounded, std::numeric_limits<T>::infinity()) - rounded;
  return std::abs(static_cast<double>(exp_of(x)) - expected) / static_cast<double>(unit);
}

template <class T>
void expect_exp(T least, T most) {
  std::mt19937_64 random(1);  // NOLINT: the same numbers in every run
  std::uniform_real_distribution<T> uniform(least, most);
  double worst = 0;
  for (int i = 0; i < 1'000'000; ++i) worst = std::max(worst, error_of_exp(uniform(random)));
  EXPECT_LE(worst, 2);
  const T infinity = std::numeric_limits<T>::infinity(), tiny = std::numeric_limits<T>::denorm_min();
  EXPECT_EQ(exp_of(T{0}), 1);
  EXPECT_EQ(exp_of(tiny), 1);
  EXPECT_EQ(exp_of(infinity), infinity);
  EXPECT_EQ(exp_of(std::numeric_limits<T>::max()), infinity);
  EXPECT_EQ(exp_of(most + 1), infinity);
  EXPECT_EQ(exp_of(-infinity), 0);
  EXPECT_EQ(exp_of(std::numeric_limits<T>::lowest()), 0);
  EXPECT_TRUE(std::isnan(exp_of(std::numeric_limits<T>::quiet_NaN())));
  EXPECT_TRUE(std::isnan(exp_of(-std::numeric_limits<T>::quiet_NaN())));
}

TEST(VectorMath, ExpOfF32) {
  expect_exp(-87.0F, 88.7F);
  EXPECT_NEAR(exp_of(-95.0F), std::exp(-95.0F), 2 * std::numeric_limits<float>::denorm_min());
}

TEST(VectorMath, ExpOfF64) {
  expect_exp(-708.0, 709.7);
  EXPECT_NEAR(exp_of(-740.0), std::exp(-740.0), 2 * std::numeric_limits<double>::denorm_min());
}

}  // namespace
}  // namespace partita
