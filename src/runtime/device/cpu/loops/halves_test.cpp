// Conversions of loops between f32 and 16 bits against those of single numbers.

#include "runtime/device/cpu/loops/halves.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace partita {
namespace {

/// Floats whose upper 16 bits take all values, with lower ones around the middle of two 16-bit numbers.
std::vector<float> floats_around_halves() {
  std::vector<float> numbers;
  for (uint32_t high = 0; high < 0x10000; ++high) {
    for (const uint32_t low :
         {0x0000U, 0x0001U, 0x0fffU, 0x1000U, 0x1001U, 0x3000U, 0x7fffU, 0x8000U, 0x8001U, 0xffffU}) {
      numbers.push_back(std::bit_cast<float>(high << 16 | low));
    }
  }
  return numbers;
}

template <class Half>
void expect_single_conversions() {
  const std::vector<float> numbers = floats_around_halves();
  std::vector<Half> halves(numbers.size());
  std::vector<float> back(numbers.size());
  convert_elements(numbers.data(), halves.data(), static_cast<int64_t>(numbers.size()));
  convert_elements(halves.data(), back.data(), static_cast<int64_t>(numbers.size()));
  int64_t wrong = 0;
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] != numbers[i]) {
      wrong += back[i] != back[i] ? 0 : 1;
      continue;
    }
    wrong += halves[i].bits == Half(numbers[i]).bits ? 0 : 1;
    wrong += std::bit_cast<uint32_t>(back[i]) == std::bit_cast<uint32_t>(static_cast<float>(halves[i])) ? 0 : 1;
  }
  EXPECT_EQ(wrong, 0);
}

TEST(Halves, AreThoseOfSingleConversions) {
  expect_single_conversions<bf16>();
  expect_single_conversions<f16>();
}

TEST(Halves, OfAnyCountStayWithinIt) {
  for (int64_t count = 0; count < 70; ++count) {
    std::vector<float> numbers(static_cast<size_t>(count), 1.5F);
    std::vector<bf16> halves(static_cast<size_t>(count) + 1, bf16(7.0F));
    convert_elements(numbers.data(), halves.data(), count);
    for (int64_t i = 0; i < count; ++i) EXPECT_EQ(static_cast<float>(halves[static_cast<size_t>(i)]), 1.5F);
    EXPECT_EQ(static_cast<float>(halves.back()), 7.0F);
  }
}

TEST(Halves, AreReadAndWrittenInPlaceOrInARoom) {
  std::vector<float> wide{1, 2, 3}, room(3);
  std::vector<bf16> narrow{bf16(4.0F), bf16(5.0F), bf16(6.0F)};
  EXPECT_EQ(LoopOperand<float>(wide.data(), DType::f32).read(1, 2, room.data()), wide.data() + 1);
  EXPECT_EQ(LoopOperand<float>(narrow.data(), DType::bf16).read(1, 2, room.data()), room.data());
  EXPECT_EQ(room[0], 5);
  EXPECT_EQ(LoopResult<float>(wide.data(), DType::f32).place(2, room.data()), wide.data() + 2);
  const LoopResult<float> result(narrow.data(), DType::bf16);
  EXPECT_EQ(result.place(2, room.data()), room.data());
  room[0] = 1 + 0x1p-9F;
  result.store(2, 1, room.data());
  EXPECT_EQ(static_cast<float>(narrow[2]), 1);
}

}  // namespace
}  // namespace partita
