#include "checkpoint/tiles.h"

#include <gtest/gtest.h>

namespace partita {
namespace {

using Parts = std::vector<int64_t>;

TEST(Tiles, MatricesAreCutAlongBothDimensions) {
  EXPECT_EQ(choose_parts({DType::f32, {768, 3072}}), (Parts{24, 24}));
  EXPECT_EQ(choose_parts({DType::f32, {5, 7}}), (Parts{1, 1}));
  EXPECT_EQ(choose_parts({DType::f32, {}}), Parts{});
}

/// A tile of a kernel that is cut along its last dimensions has runs of one or two elements.
TEST(Tiles, SmallLastDimensionsStayWhole) {
  EXPECT_EQ(choose_parts({DType::f32, {512, 512, 3, 3}}), (Parts{24, 24, 1, 1}));
  EXPECT_EQ(choose_parts({DType::f32, {2048, 512, 1, 1}}), (Parts{24, 24, 1, 1}));
  EXPECT_EQ(choose_parts({DType::f32, {64, 3, 7, 7}}), (Parts{12, 1, 1, 1}));
  // Runs of 32 bytes are long enough.
  EXPECT_EQ(choose_parts({DType::f32, {100000, 64}}), (Parts{24, 8}));
}

TEST(Tiles, SideBySideTheyHaveEightMebibytesAtMost) {
  const Parts parts = choose_parts({DType::f32, {65536, 4096}});
  EXPECT_EQ(parts, (Parts{24 * 6, 24}));
}

}  // namespace
}  // namespace partita
