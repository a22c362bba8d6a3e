#include "base/saturating.h"

#include <gtest/gtest.h>

namespace partita {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

TEST(Saturating, SumsAndProductsThatDoNotFitAreTheMaximum) {
  for (const int64_t a : {int64_t{0}, int64_t{1}, int64_t{3'037'000'500}, kMax / 2, kMax - 1, kMax}) {
    for (const int64_t b : {int64_t{0}, int64_t{1}, int64_t{2}, int64_t{3'037'000'500}, kMax}) {
      int64_t sum = 0, product = 0;
      EXPECT_EQ(saturating_add(a, b), __builtin_add_overflow(a, b, &sum) ? kMax : sum) << a << " + " << b;
      EXPECT_EQ(saturating_mul(a, b), __builtin_mul_overflow(a, b, &product) ? kMax : product) << a << " * " << b;
    }
  }
}

}  // namespace
}  // namespace partita
