#include "base/rounding.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "base/number.h"

namespace partita {
namespace {

/// All finite numbers of a 16-bit float that are not below zero, in order.
template <class Half>
std::vector<double> numbers_of() {
  std::vector<double> found;
  for (uint32_t bits = 0; bits < 0x8000; ++bits) {
    Half half;
    half.bits = static_cast<uint16_t>(bits);
    const float value = half;
    if (std::isfinite(value)) found.push_back(value);
  }
  return found;
}

/// The nearest of `all`, of two equally near ones that with an even position; infinity from half a step beyond the end.
double nearest_of(const std::vector<double>& all, double x) {
  const auto above = std::ranges::lower_bound(all, x);
  const double last = all.back(), step = last - all[all.size() - 2];
  if (above == all.end()) return x - last >= step / 2 ? std::numeric_limits<double>::infinity() : last;
  if (above == all.begin()) return *above;
  const double high = *above, low = *(above - 1);
  if (high - x != x - low) return high - x < x - low ? high : low;
  return (above - all.begin()) % 2 == 0 ? high : low;
}

template <HalfFormat kFormat, class Half, class T>
void expect_nearest() {
  const std::vector<double> all = numbers_of<Half>();
  std::mt19937_64 random(3);
  std::uniform_int_distribution<size_t> place(0, all.size() - 2);
  std::uniform_real_distribution<double> part(0, 1);
  for (int i = 0; i < 200000; ++i) {
    const size_t k = i < 1000 ? static_cast<size_t>(i) : i < 1100 ? all.size() - 2 : place(random);
    const double between = i % 3 == 0 ? 0.5 : i % 17 == 0 ? 0 : part(random);
    T x = static_cast<T>(all[k] + (all[k + 1] - all[k]) * between);
    // The processor may round subnormal floats to zero, as it does in a step; the format's own lie there.
    if (std::abs(x) < std::numeric_limits<T>::min() && x != 0) continue;
    const double expected = nearest_of(all, x);
    ASSERT_EQ(static_cast<double>(round_to<kFormat>(x)), expected) << x;
    ASSERT_EQ(static_cast<double>(round_to<kFormat>(-x)), -expected) << -x;
  }
}

TEST(RoundTo, GivesTheNearest) {
  expect_nearest<kBf16, bf16, float>();
  expect_nearest<kBf16, bf16, double>();
  expect_nearest<kF16, f16, float>();
  expect_nearest<kF16, f16, double>();
}

/// Doubles around the middle of each pair of neighbouring numbers of a 16-bit float, nearer to it than a float can say.
template <class Half>
void expect_rounded_once() {
  const std::vector<double> all = numbers_of<Half>();
  for (size_t k = 0; k + 1 < all.size(); ++k) {
    if (all[k + 1] < std::numeric_limits<float>::min()) continue;  // the processor may round these to zero
    const double middle = (all[k] + all[k + 1]) / 2;
    for (const double x : {middle, std::nextafter(middle, 0), std::nextafter(middle, all[k + 1]), all[k]}) {
      const double expected = nearest_of(all, x);
      ASSERT_EQ(static_cast<double>(convert<Half>(x)), expected) << std::hexfloat << x;
      ASSERT_EQ(static_cast<double>(static_cast<Half>(-x)), -expected) << std::hexfloat << -x;
    }
  }
  const double end = all.back() + (all.back() - all[all.size() - 2]) / 2;
  EXPECT_EQ(static_cast<double>(convert<Half>(std::nextafter(end, 0))), all.back());
  EXPECT_EQ(static_cast<double>(convert<Half>(end)), std::numeric_limits<double>::infinity());
  EXPECT_EQ(static_cast<double>(convert<Half>(std::numeric_limits<double>::lowest())),
            -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(static_cast<float>(convert<Half>(std::nan("")))));
  EXPECT_TRUE(std::signbit(static_cast<float>(convert<Half>(-0.0))));
}

TEST(Convert, RoundsDoublesTo16BitsOnce) {
  expect_rounded_once<bf16>();
  expect_rounded_once<f16>();
}

TEST(Convert, RoundsIntegersTo16BitsOnce) {
  for (int exponent = 9; exponent < 63; ++exponent) {
    const int64_t even = int64_t{1} << exponent, middle = even + (even >> 8);  // between two numbers of 8 digits
    const double above = static_cast<double>(even) * (1 + std::ldexp(1, -7));
    EXPECT_EQ(static_cast<double>(convert<bf16>(middle)), static_cast<double>(even)) << middle;
    EXPECT_EQ(static_cast<double>(convert<bf16>(middle + 1)), above) << middle + 1;
    EXPECT_EQ(static_cast<double>(convert<bf16>(-middle - 1)), -above) << -middle - 1;
  }
  EXPECT_EQ(static_cast<double>(convert<f16>(int32_t{2049})), 2048);
  EXPECT_EQ(static_cast<double>(convert<f16>(std::numeric_limits<int64_t>::max())),
            std::numeric_limits<double>::infinity());
}

template <HalfFormat kFormat, class T>
void expect_ends(double largest) {
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  EXPECT_EQ(round_to<kFormat>(kInfinity), kInfinity);
  EXPECT_EQ(round_to<kFormat>(-kInfinity), -kInfinity);
  EXPECT_EQ(round_to<kFormat>(static_cast<T>(largest)), static_cast<T>(largest));
  EXPECT_EQ(round_to<kFormat>(std::numeric_limits<T>::max()), kInfinity);
  EXPECT_EQ(round_to<kFormat>(-std::numeric_limits<T>::max()), -kInfinity);
  EXPECT_TRUE(std::isnan(round_to<kFormat>(std::numeric_limits<T>::quiet_NaN())));
  EXPECT_TRUE(std::signbit(round_to<kFormat>(T{-0.0})));
}

// A mean of 9 numbers of bf16, added in two orders.
TEST(WithoutNoise, SumsInOtherOrdersAreRoundedAlike) {
  std::mt19937_64 random(5);
  int apart = 0;
  for (int i = 0; i < 100000; ++i) {
    double one = 0, first = 0, second = 0;
    for (int k = 0; k < 9; ++k) {
      const double x = bf16(static_cast<float>(std::uniform_real_distribution<>(0, 2)(random)));
      one += x;
      (k < 3 ? first : second) += x / 9;
    }
    const double whole = one / 9, parts = first + second;
    apart += round_to<kBf16>(whole) != round_to<kBf16>(parts) ? 1 : 0;
    ASSERT_EQ(round_to<kBf16>(without_noise(whole)), round_to<kBf16>(without_noise(parts)));
    ASSERT_LE(std::abs(without_noise(whole) - whole), std::ldexp(whole, -41));
  }
  EXPECT_GT(apart, 10) << "the case that it is for";
  EXPECT_EQ(without_noise(std::numeric_limits<double>::infinity()), std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(without_noise(std::nan(""))));
  EXPECT_EQ(without_noise(0.1f), 0.1f);
}

TEST(RoundTo, KeepsWhatIsNoNumber) {
  expect_ends<kBf16, float>(0x1.fep127);
  expect_ends<kBf16, double>(0x1.fep127);
  expect_ends<kF16, float>(65504);
  expect_ends<kF16, double>(65504);
  EXPECT_EQ(round_to<kF16>(65519.99), 65504);
  EXPECT_EQ(round_to<kF16>(65520.0), std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace partita
