#include "base/finite.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "base/philox.h"
#include "base/shape.h"

namespace partita {
namespace {

/// Copies elements to memory that begins the given number of elements after a register's boundary.
bool copy_to(size_t offset, const Array& array, std::vector<std::byte>& got) {
  const size_t size = size_of(array.type().dtype), bytes = static_cast<size_t>(array.type().bytes());
  std::vector<std::byte> memory(bytes + offset * size + 64, std::byte{0x5a});
  std::byte* aligned = memory.data() + (32 - reinterpret_cast<uintptr_t>(memory.data()) % 32) % 32;
  std::byte* to = aligned + offset * size;
  const bool finite = copy_finite(array.type().dtype, to, array.tensor().data, array.type().elements());
  got.assign(to, to + bytes);
  EXPECT_EQ(to[bytes], std::byte{0x5a}) << "written behind the copy";
  return finite;
}

TEST(Finite, CopiesHaveTheBytes) {
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16, DType::f16, DType::i64, DType::u8}) {
    for (const int64_t count : {0, 1, 3, 31, 32, 33, 500}) {
      Array array(Type{dtype, {count}});
      for (int64_t i = 0; i < count; ++i) array.set(i, static_cast<double>(random_below(2, i, 0, 100)));
      for (const size_t offset : {0, 1, 3}) {
        std::vector<std::byte> got;
        EXPECT_TRUE(copy_to(offset, array, got));
        EXPECT_TRUE(got.empty() || std::memcmp(got.data(), array.tensor().data, got.size()) == 0)
            << name_of(dtype) << ", " << count;
      }
    }
  }
}

TEST(Finite, OneNumberThatIsNotIsSeenWhereverItIs) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16, DType::f16}) {
    const Type type{dtype, {77}};
    for (int64_t place = 0; place < 77; ++place) {
      for (const double value : {kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN()}) {
        Array array(type);
        for (int64_t i = 0; i < 77; ++i) array.set(i, random_normal(4, static_cast<uint64_t>(i), 1));
        EXPECT_TRUE(are_finite(dtype, array.tensor().data, 77));
        array.set(place, value);
        std::vector<std::byte> got;
        EXPECT_FALSE(are_finite(dtype, array.tensor().data, 77)) << name_of(dtype) << " " << place;
        EXPECT_FALSE(copy_to(static_cast<size_t>(place % 3), array, got)) << name_of(dtype) << " " << place;
      }
    }
  }
}

TEST(Finite, TheLargestNumbersAre) {
  Array array(Type{DType::f32, {40}});
  array.set(7, std::numeric_limits<float>::max());
  array.set(8, std::numeric_limits<float>::lowest());
  array.set(9, std::numeric_limits<float>::denorm_min());
  std::vector<std::byte> got;
  EXPECT_TRUE(are_finite(DType::f32, array.tensor().data, 40));
  EXPECT_TRUE(copy_to(0, array, got));
}

TEST(Finite, WholeNumbersAlwaysAre) {
  Array array(Type{DType::i32, {40}});
  for (int64_t i = 0; i < 40; ++i) array.set(i, -1);
  std::vector<std::byte> got;
  EXPECT_TRUE(are_finite(DType::i32, array.tensor().data, 40));
  EXPECT_TRUE(copy_to(1, array, got));
}

}  // namespace
}  // namespace partita
