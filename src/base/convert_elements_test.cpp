// Blocks of numbers of every pair of types against `convert`, and `convert` against exact arithmetic.

#include "base/convert_elements.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "base/shape.h"

namespace partita {
namespace {

constexpr size_t kNumbers = 4096;

/// Numbers of any sign and exponent, after those at which a conversion changes its way: bounds of the types, halves,
/// the digits of floats, zeros, infinities and NaN.
template <class T>
std::vector<T> special_and_random() {
  std::vector<double> special{0.0,   -0.0, 0.5,   -0.5, 1.5, 2.5,   -1,    -1.5,
                              0.999, 255,  255.5, 256,  257, 65504, 65520, 2049};
  for (const int exponent : {23, 24, 31, 32, 53, 63, 64, 127, 128, -14, -24, -25, -126, -149, 1023}) {
    for (const double factor : {1.0, -1.0, 1 + 0x1p-8, 1 + 0x1p-9, 1 - 0x1p-24, 1 + 0x1p-52, 1 - 0x1p-53}) {
      special.push_back(std::ldexp(factor, exponent));
    }
  }
  for (const double number : {std::numeric_limits<double>::infinity(), std::nan(""), std::numeric_limits<double>::max(),
                              std::numeric_limits<double>::denorm_min()}) {
    special.push_back(number);
    special.push_back(-number);
  }
  std::mt19937_64 random(11);
  std::vector<T> numbers;
  for (size_t i = 0; i < kNumbers; ++i) {
    if (i < special.size()) {
      numbers.push_back(convert<T>(special[i]));
    } else if constexpr (std::is_same_v<T, bool>) {
      numbers.push_back(random() % 2 == 1);
    } else if constexpr (std::is_integral_v<T>) {
      numbers.push_back(static_cast<T>(static_cast<int64_t>(random()) >> random() % 64));
    } else {
      const uint64_t bits = random();
      T number;
      std::memcpy(static_cast<void*>(&number), &bits, sizeof number);
      numbers.push_back(number);
    }
  }
  return numbers;
}

template <class T>
bool is_same(T a, T b) {
  return is_nan(a) ? is_nan(b) : std::memcmp(&a, &b, sizeof a) == 0;
}

/// The number of an integer type that is nearest to `x` cut to an integer; a long double holds all numbers of every
/// type.
template <class To>
To clamped(long double x) {
  if (std::isnan(x)) return 0;
  const auto low = static_cast<long double>(std::numeric_limits<To>::min());
  const auto high = static_cast<long double>(std::numeric_limits<To>::max());
  return static_cast<To>(std::min(std::max(std::trunc(x), low), high));
}

template <class From>
long double exact(From x) {
  if constexpr (std::is_integral_v<From>)
    return static_cast<long double>(x);
  else if constexpr (sizeof(From) == 2)
    return static_cast<long double>(static_cast<float>(x));
  else
    return x;
}

template <class To, class From>
void expect_exact(From from) {
  const long double x = exact(from);
  const To made = convert<To>(from);
  if constexpr (std::is_same_v<To, bool>) {
    ASSERT_EQ(made, x != 0);
  } else if constexpr (std::is_integral_v<To>) {
    ASSERT_EQ(made, clamped<To>(x)) << static_cast<double>(x);
  } else if constexpr (sizeof(To) >= 4) {
    ASSERT_TRUE(is_same(made, static_cast<To>(x))) << static_cast<double>(x);
  } else if (!std::isfinite(static_cast<float>(made))) {
    ASSERT_TRUE(std::isnan(x) ? is_nan(made) : std::signbit(x) == std::signbit(static_cast<float>(made)));
  } else {  // no neighbour is nearer, and none that is as near has an even last digit
    const long double distance = std::abs(exact(made) - x);
    for (const int step : {-1, 1}) {
      To other = made;
      other.bits = static_cast<uint16_t>(made.bits + step);
      if ((made.bits & 0x7fff) == 0 && step == -1) continue;
      const long double beyond = std::abs(exact(other) - x);
      if (!std::isfinite(static_cast<float>(other))) continue;
      ASSERT_TRUE(distance < beyond || (distance == beyond && made.bits % 2 == 0)) << static_cast<double>(x);
    }
  }
}

template <class From, class To>
void expect_blocks_of_pair() {
  SCOPED_TRACE(std::string(name_of(DTypeOf<From>::value)) + " to " + std::string(name_of(DTypeOf<To>::value)));
  const std::vector<From> numbers = special_and_random<From>();
  Array from(Type{DTypeOf<From>::value, {kNumbers}}), to(Type{DTypeOf<To>::value, {kNumbers}});
  for (size_t i = 0; i < kNumbers; ++i) from.as<From>()[i] = numbers[i];
  for (size_t begin = 0, count = 0; begin + count <= kNumbers; begin += count, ++count) {
    const To last = convert<To>(7);
    if (begin + count < kNumbers) to.as<To>()[begin + count] = last;
    convert_elements(DTypeOf<From>::value, from.as<From>() + begin, DTypeOf<To>::value, to.as<To>() + begin,
                     static_cast<int64_t>(count));
    if (begin + count < kNumbers) {
      ASSERT_TRUE(is_same(to.as<To>()[begin + count], last)) << count;
    }
    for (size_t i = begin; i < begin + count; ++i) {
      ASSERT_TRUE(is_same(to.as<To>()[i], convert<To>(numbers[i]))) << "number " << i << " of a block of " << count;
      expect_exact<To>(static_cast<From>(numbers[i]));
    }
  }
  const Array all = cast(from, DTypeOf<To>::value);
  for (size_t i = 0; i < kNumbers; ++i) ASSERT_TRUE(is_same(all.as<To>()[i], convert<To>(numbers[i]))) << i;
}

TEST(ConvertElements, EqualsConvertForEveryPairOfTypes) {
  for (const DType from : kAllDTypes) {
    for (const DType to : kAllDTypes) {
      for_dtype(from, [&](auto given) {
        for_dtype(to, [&](auto made) { expect_blocks_of_pair<decltype(given), decltype(made)>(); });
      });
    }
  }
}

TEST(ConvertElements, KeepsIntegersThatADoubleDoesNotHold) {
  const Array wide({3}, std::vector<int64_t>{(int64_t{1} << 53) + 1, std::numeric_limits<int64_t>::max() - 1, -7});
  const Array same = cast(wide, DType::i64), narrow = cast(wide, DType::u32);
  EXPECT_EQ(same.as<int64_t>()[0], (int64_t{1} << 53) + 1);
  EXPECT_EQ(narrow.as<uint32_t>()[1], std::numeric_limits<uint32_t>::max());
  EXPECT_EQ(narrow.as<uint32_t>()[2], 0U);
}

TEST(ConvertElements, OfNoneWritesNothing) {
  for (const DType to : kAllDTypes) convert_elements(DType::f32, nullptr, to, nullptr, 0);
}

}  // namespace
}  // namespace partita
