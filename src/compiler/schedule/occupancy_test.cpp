#include "compiler/schedule/occupancy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace partita {
namespace {

struct Block {
  size_t first, last;
  int64_t offset, bytes;
};

/// Returns the lowest offset at which the block overlaps none that is live at the same moment.
int64_t lowest_free(std::vector<Block> blocks, const Block& wanted, int64_t base) {
  std::ranges::sort(blocks, [](const Block& a, const Block& b) { return a.offset < b.offset; });
  int64_t offset = base;
  for (const Block& there : blocks) {
    if (there.last < wanted.first || wanted.last < there.first) continue;
    if (there.offset >= offset + wanted.bytes) break;
    offset = std::max(offset, there.offset + there.bytes);
  }
  return offset;
}

TEST(Occupancy, TakesTheLowestFreePlace) {
  std::mt19937 random(2);
  for (const size_t moments : {1, 7, 64, 300}) {
    const int64_t base = 64;
    Occupancy occupancy(moments);
    std::vector<Block> blocks;
    for (int i = 0; i < 400; ++i) {
      Block block{random() % moments, random() % moments, 0, static_cast<int64_t>(64 * (1 + random() % 9))};
      if (block.first > block.last) std::swap(block.first, block.last);
      block.offset = lowest_free(blocks, block, base);
      ASSERT_EQ(occupancy.take({block.first, block.last}, base, block.bytes), block.offset) << moments << " " << i;
      blocks.push_back(block);
    }
  }
}

TEST(ByteRanges, RangesThatTouchAreOne) {
  ByteRanges ranges;
  EXPECT_TRUE(ranges.empty());
  ranges.add(10, 20);
  ranges.add(30, 40);
  EXPECT_EQ(ranges.end_of_overlap(0, 10), 0);
  EXPECT_EQ(ranges.end_of_overlap(0, 11), 20);
  EXPECT_EQ(ranges.end_of_overlap(20, 30), 20);
  ranges.add(20, 30);
  EXPECT_EQ(ranges.end_of_overlap(15, 16), 40);
  ranges.add(0, 100);
  EXPECT_EQ(ranges.end_of_overlap(35, 36), 100);
  EXPECT_EQ(ranges.end_of_overlap(100, 200), 100);
}

}  // namespace
}  // namespace partita
