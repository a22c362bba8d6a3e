#include "runtime/checkpoint/tiles.h"

#include <gtest/gtest.h>

#include <string>

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

using Found = std::vector<std::pair<int64_t, std::string>>;

TEST(Tiles, AreVisitedInTheirOrder) {
  const Tiles tiles({3, 2, 1}, {{1, 6, 6}, {0, 4, 4}, {0, 2, 2}});
  const auto visited = [&](const std::vector<std::pair<int64_t, int64_t>>& part) {
    Found found;
    tiles.for_each(part, [&](int64_t number, const Box& tile) {
      found.emplace_back(number, fmt::format("{}:{},{}:{},{}", tile[0].begin, tile[0].end, tile[1].begin, tile[1].end,
                                             tile[2].count()));
    });
    return found;
  };
  EXPECT_EQ(
      visited({{0, 3}, {0, 2}, {0, 1}}),
      (Found{
          {0, "1:2,0:2,2"}, {1, "1:2,2:4,2"}, {2, "2:4,0:2,2"}, {3, "2:4,2:4,2"}, {4, "4:6,0:2,2"}, {5, "4:6,2:4,2"}}));
  EXPECT_EQ(visited({{1, 3}, {1, 2}, {0, 1}}), (Found{{3, "2:4,2:4,2"}, {5, "4:6,2:4,2"}}));
  EXPECT_EQ(visited({{1, 1}, {0, 2}, {0, 1}}), Found{});
  int scalars = 0;
  Tiles({}, {}).for_each([&](int64_t number, const Box& tile) {
    EXPECT_TRUE(number == 0 && tile.empty());
    ++scalars;
  });
  EXPECT_EQ(scalars, 1);
}

}  // namespace
}  // namespace partita
