#include "runtime/comm/rank_parts.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace partita {
namespace {

TEST(RankParts, FollowEachOther) {
  std::mt19937 random(5);
  for (const int ranks : {1, 2, 3, 4, 6, 8}) {
    for (const DType dtype : {DType::f64, DType::bf16, DType::u8}) {
      std::vector<int64_t> counts;
      int64_t total = 0;
      for (int r = 0; r < ranks; ++r) total += counts.emplace_back(static_cast<int64_t>(random() % 5));
      const auto item = static_cast<int64_t>(size_of(dtype));
      std::vector<std::byte> buffer(static_cast<size_t>(total * item) + 1);
      RankParts parts(buffer.data(), counts, dtype);
      int64_t begin = 0;
      for (int r = 0; r < ranks; ++r) {
        EXPECT_EQ(begin_of_part(counts, r), begin);
        const BufferPart part = parts(static_cast<size_t>(r));
        EXPECT_EQ(part.data, buffer.data() + begin * item);
        EXPECT_EQ(part.bytes, counts[static_cast<size_t>(r)] * item);
        begin += counts[static_cast<size_t>(r)];
      }
    }
  }
}

TEST(RankParts, OfNoBufferAreNull) {
  const std::vector<int64_t> counts{0, 0};
  RankParts parts(nullptr, counts, DType::f32);
  EXPECT_EQ(parts(0).data, nullptr);
  EXPECT_EQ(parts(1).data, nullptr);
  EXPECT_EQ(byte_of(nullptr, 4), nullptr);
  copy_bytes(nullptr, nullptr, 0);
}

}  // namespace
}  // namespace partita
