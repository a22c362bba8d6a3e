#include "base/dtype.h"

#include <gtest/gtest.h>

#include <limits>

namespace partita {
namespace {

/// The smallest and the largest number of an integer type.
struct Range {
  int64_t least = 0, largest = 0;
  bool holds(const Range& other) const { return least <= other.least && other.largest <= largest; }
};

Range range_of(DType dtype) {
  Range range;
  for_integer(dtype, [&](auto zero) {
    using Limits = std::numeric_limits<decltype(zero)>;
    range = {static_cast<int64_t>(Limits::min()), static_cast<int64_t>(Limits::max())};
  });
  return range;
}

TEST(DTypes, AreReadByTheirNames) {
  for (const DType dtype : kAllDTypes) {
    EXPECT_EQ(parse_dtype(name_of(dtype)), dtype);
    for_dtype(dtype, [&](auto zero) {
      EXPECT_EQ(size_of(dtype), sizeof(zero)) << name_of(dtype);
      EXPECT_EQ(DTypeOf<decltype(zero)>::value, dtype) << name_of(dtype);
    });
  }
  EXPECT_EQ(parse_dtype("u64"), std::nullopt);
}

TEST(DTypes, OfTwoIntegersPromoteToTheSmallestThatHoldsBoth) {
  for (const DType a : kAllDTypes) {
    for (const DType b : kAllDTypes) {
      const DType both = promote(a, b);
      EXPECT_EQ(both, promote(b, a)) << name_of(a) << " " << name_of(b);
      if (is_float(a) || is_float(b)) continue;
      EXPECT_TRUE(range_of(both).holds(range_of(a)) && range_of(both).holds(range_of(b)))
          << name_of(a) << " " << name_of(b) << " " << name_of(both);
      if (a == DType::boolean || b == DType::boolean) continue;  // their numbers fit every type
      for (const DType other : kAllDTypes) {
        if (is_float(other) || size_of(other) >= size_of(both)) continue;
        EXPECT_FALSE(range_of(other).holds(range_of(a)) && range_of(other).holds(range_of(b)))
            << name_of(a) << " " << name_of(b) << " fit " << name_of(other);
      }
    }
  }
}

}  // namespace
}  // namespace partita
