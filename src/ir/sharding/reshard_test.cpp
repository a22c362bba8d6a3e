#include "ir/sharding/reshard.h"

#include <gtest/gtest.h>

namespace partita {
namespace {

using Dims = std::vector<Axes>;

const Type k2D{DType::f32, {512, 1000}};

std::string kinds(const Resharder::Path& path) {
  std::string text;
  for (const Move& move : path.moves) text += fmt::format("{}{}", text.empty() ? "" : " ", name_of(move.kind));
  return text;
}

TEST(Reshard, PartialSumsAreScatteredWhereTheyGo) {
  const Mesh mesh({{"a", 2}, {"b", 2}, {"c", 2}});
  Resharder resharder(mesh);
  const Sharding sums{.dims = {{0}, {}}, .kind = Reduce::sum, .partial = {1, 2}};
  const auto path = [&](Dims dims) { return resharder.path(k2D, sums, {.dims = std::move(dims)}); };
  EXPECT_EQ(kinds(path({{0}, {1, 2}})), "reduce_scatter");
  EXPECT_EQ(path({{0}, {1, 2}}).moves[0].axes, (Axes{1, 2}));
  EXPECT_EQ(kinds(path({{0, 1, 2}, {}})), "reduce_scatter");
  EXPECT_EQ(kinds(path({{0}, {}})), "all_reduce");
  EXPECT_EQ(kinds(path({{0}, {1}})), "reduce_scatter all_reduce");
  EXPECT_EQ(path({{0}, {1, 2}}).cost * 2, path({{0}, {}}).cost);
}

TEST(Reshard, ADimensionMovesInOneExchange) {
  const Mesh mesh({{"a", 2}, {"b", 2}, {"c", 2}});
  Resharder resharder(mesh);
  const auto path = [&](Dims from, Dims to) { return kinds(resharder.path(k2D, {.dims = from}, {.dims = to})); };
  EXPECT_EQ(path({{0, 1, 2}, {}}, {{0}, {1, 2}}), "all_to_all");
  EXPECT_EQ(path({{0, 1, 2}, {}}, {{0}, {}}), "all_gather");
  EXPECT_EQ(path({{}, {}}, {{0}, {1}}), "slice_shard slice_shard");
  EXPECT_EQ(path({{0}, {1}}, {{1}, {0}}), "permute");
  EXPECT_EQ(path({{0}, {1}}, {{0}, {1}}), "");
}

}  // namespace
}  // namespace partita
