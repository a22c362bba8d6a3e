#include "ir/sharding/move.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "ir/sharding/reshard.h"

namespace partita {
namespace {

/// Returns a sharding with axes in random order over the dimensions, the partial sum and neither.
Sharding random_sharding(std::mt19937& random, const Type& type, const Mesh& mesh, bool may_be_partial) {
  Sharding sharding{.dims = std::vector<Axes>(type.shape.size())};
  Axes all;
  for (size_t axis = 0; axis < mesh.axes().size(); ++axis) all.push_back(static_cast<int>(axis));
  std::shuffle(all.begin(), all.end(), random);
  for (int axis : all) {
    const size_t at = std::uniform_int_distribution<size_t>(0, type.shape.size() + 1)(random);
    if (at < type.shape.size()) {
      sharding.dims[at].push_back(axis);
      if (mesh.ways(sharding.dims[at]) > type.shape[at]) sharding.dims[at].pop_back();
    } else if (at == type.shape.size() && may_be_partial) {
      sharding.partial.push_back(axis);
    }
  }
  std::ranges::sort(sharding.partial);
  if (!sharding.partial.empty()) sharding.kind = Reduce::sum;
  return sharding;
}

TEST(MoveBetween, FindsEveryMoveOfEveryPath) {
  std::mt19937 random(5);
  std::vector<int64_t> seen(kNodeCollectives, 0);
  const std::vector<Mesh> meshes{Mesh({{"a", 2}}), Mesh({{"a", 3}}),           Mesh({{"a", 2}, {"b", 3}}),
                                 Mesh({{"a", 8}}), Mesh({{"a", 4}, {"b", 6}}), Mesh::undivided({{"a", 2}, {"b", 4}})};
  for (const Mesh& mesh : meshes) {
    Resharder resharder(mesh);
    for (int i = 0; i < 300; ++i) {
      const Type type{DType::f32, i % 2 == 0 ? Shape{24, 7} : Shape{6, 10, 8}};
      const Sharding from = random_sharding(random, type, mesh, true), to = random_sharding(random, type, mesh, false);
      Sharding now = from;
      for (const Move& move : resharder.path(type, from, to).moves) {
        const std::string text = fmt::format("{}, to {}", print(type, now, mesh), print(type, move.result, mesh));
        const auto found = move_between(now, move.result, mesh);
        ASSERT_TRUE(found) << text;
        EXPECT_EQ(found->kind, move.kind) << text;
        EXPECT_EQ(found->axes, move.axes) << text;
        EXPECT_EQ(found->dim, move.dim) << text;
        EXPECT_EQ(found->to_dim, move.to_dim) << text;
        EXPECT_EQ(found->result, move.result) << text;
        ++seen[static_cast<size_t>(move.kind)];
        now = move.result;
      }
      EXPECT_EQ(now, to);
    }
  }
  for (size_t kind = 0; kind < static_cast<size_t>(Collective::halo_exchange); ++kind) {
    if (joins_micro_batches(static_cast<Collective>(kind))) continue;  // no move between ranks
    EXPECT_GT(seen[kind], 10) << name_of(static_cast<Collective>(kind));
  }
}

TEST(MoveBetween, FindsNoneWhereOneIsNotEnough) {
  const Mesh mesh({{"a", 2}, {"b", 2}, {"c", 3}});
  const auto none = [&](const Sharding& from, const Sharding& to) { return !move_between(from, to, mesh); };
  EXPECT_TRUE(none({.dims = {{0}, {1}}}, {.dims = {{0}, {1}}}));
  EXPECT_TRUE(none({.dims = {{}, {}}}, {.dims = {{0}, {1}}}));
  EXPECT_TRUE(none({.dims = {{0}, {1}}}, {.dims = {{}, {}}}));
  EXPECT_TRUE(none({.dims = {{0}, {}}}, {.dims = {{}, {1}}}));
  EXPECT_TRUE(none({.dims = {{0}, {}}}, {.dims = {{2}, {}}}));
  EXPECT_TRUE(none({.dims = {{0}, {}}}, {.dims = {{0}}}));
  const Sharding sum{.dims = {{}, {}}, .kind = Reduce::sum, .partial = {0, 1}};
  EXPECT_TRUE(none({.dims = {{}, {}}}, sum));                                        // a sum made partial again
  EXPECT_TRUE(none(sum, {.dims = {{2}, {}}}));                                       // and sliced
  EXPECT_TRUE(none(sum, {.dims = {{0}, {}}}));                                       // by half of it
  EXPECT_TRUE(none(sum, {.dims = {{}, {}}, .kind = Reduce::max, .partial = {0}}));   // another kind
  EXPECT_TRUE(none(sum, {.dims = {{}, {}}, .kind = Reduce::none, .partial = {0}}));  // or none
  EXPECT_FALSE(none(sum, {.dims = {{1}, {}}, .kind = Reduce::sum, .partial = {0}}));
}

TEST(MoveBetween, HalosAreNoMove) {
  const Mesh mesh({{"a", 2}});
  const Halo halo{.window = {.size = 3, .pad = 1}, .factor = 8};
  const Sharding plain{.dims = {{}, {0}}}, with{.dims = {{}, {0}}, .halos = {std::nullopt, halo}};
  EXPECT_FALSE(move_between(plain, with, mesh));
  EXPECT_TRUE(adds_halos(plain, with));
  EXPECT_TRUE(adds_halos({.dims = {{}, {}}}, with));  // fewer rows than parts: each rank keeps what it needs
  EXPECT_FALSE(adds_halos(with, with));
  EXPECT_FALSE(adds_halos(plain, plain));
  EXPECT_FALSE(adds_halos({.dims = {{0}, {}}}, with));
  EXPECT_FALSE(adds_halos({.dims = {{}, {0}}, .kind = Reduce::sum, .partial = {1}}, with));
}

}  // namespace
}  // namespace partita
