#include "runtime/comm/round_bf16.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include "base/dtype.h"

namespace partita {
namespace {

/// Values of all exponents and signs, among them infinities and NaN.
std::vector<float> random_bits(size_t count) {
  std::mt19937 random(7);
  std::vector<float> values(count);
  for (float& value : values) value = std::bit_cast<float>(static_cast<uint32_t>(random()));
  return values;
}

TEST(RoundBf16, GivesTheNearestAlsoInPlace) {
  for (const size_t count : {0, 1, 2, 1023, 1024, 1025, 5000}) {
    const std::vector<float> values = random_bits(count);
    std::vector<float> in_place = values, widened(count);
    std::vector<bf16> rounded(count);
    const auto elements = static_cast<int64_t>(count);
    round_to_bf16(values.data(), rounded.data(), elements);
    widen_from_bf16(rounded.data(), widened.data(), elements);
    round_to_bf16(in_place.data(), in_place.data(), elements);
    widen_from_bf16(in_place.data(), in_place.data(), elements);
    for (size_t i = 0; i < count; ++i) {
      const auto expected = static_cast<float>(bf16(values[i]));
      if (std::isnan(values[i])) {
        EXPECT_TRUE(std::isnan(widened[i]) && std::isnan(in_place[i]));
      } else {
        EXPECT_EQ(widened[i], expected) << values[i];
        EXPECT_EQ(in_place[i], expected) << values[i];
      }
    }
  }
}

}  // namespace
}  // namespace partita
