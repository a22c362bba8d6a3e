#include "runtime/comm/named_groups.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "runtime/comm/run_ranks.h"

namespace partita {
namespace {

TEST(NamedGroups, TranslateBetweenGroupAndWorld) {
  run_ranks(6, [](Communicator& world) {
    NamedGroups groups(world);
    groups.create("odd", std::vector<int>{5, 1, 3});
    groups.create("low", std::vector<int>{0, 1});
    groups.create("low", std::vector<int>{0, 1});  // known already
    EXPECT_EQ(groups.size("odd"), 3);
    EXPECT_EQ(groups.world_rank("odd", 0), 5);
    EXPECT_EQ(groups.group_rank("odd", 3), 2);
    EXPECT_EQ(groups.size(NamedGroups::kWorld), 6);
    EXPECT_EQ(groups.world_rank("world", 4), 4);
    EXPECT_EQ(groups.contains("odd", world.rank()), world.rank() % 2 == 1);
    if (groups.contains("odd", world.rank())) {
      Communicator& odd = groups.at("odd");
      EXPECT_EQ(odd.rank(), groups.group_rank("odd", world.rank()));
      EXPECT_EQ(odd.world_ranks()[odd.rank()], world.rank());
      EXPECT_EQ(odd.host_place().rank, world.rank());
      EXPECT_EQ(odd.host_place().size, 6);
      int32_t sum = world.rank();
      odd.all_reduce(&sum, 1, DType::i32, Reduce::sum);
      EXPECT_EQ(sum, 9);
    } else {
      EXPECT_THROW(groups.at("odd"), InvalidArgument);
    }
    groups.destroy("odd");
    EXPECT_THROW(groups.size("odd"), InvalidArgument);
    groups.create("odd", std::vector<int>{1, 3});
    EXPECT_EQ(groups.size("odd"), 2);
  });
}

TEST(NamedGroups, SayWhatIsWrong) {
  run_ranks(2, [](Communicator& world) {
    NamedGroups groups(world);
    groups.create("pair", std::vector<int>{1, 0});
    const auto message = [](auto&& fn) -> std::string {
      try {
        fn();
      } catch (const InvalidArgument& error) {
        return error.what();
      }
      return "";
    };
    EXPECT_EQ(message([&] {
                groups.create("pair", std::vector<int>{0, 1});
              }),
              "[group] 'pair' stands for other ranks, got (0, 1), expected (1, 0) or another name");
    EXPECT_EQ(message([&] { groups.create("x", {}); }),
              "[group] 'x' has no ranks, got an empty list, expected at least one");
    EXPECT_EQ(message([&] {
                groups.create("x", std::vector<int>{0, 2});
              }),
              "[group] bad ranks of 'x', got 2, expected different ones from 0 to 1");
    EXPECT_EQ(message([&] {
                groups.create("x", std::vector<int>{1, 1});
              }),
              "[group] bad ranks of 'x', got 1 twice, expected different ones from 0 to 1");
    EXPECT_EQ(message([&] { groups.size("piar"); }),
              "[group] unknown group, got 'piar', expected one of pair world, did you mean 'pair'?");
    EXPECT_EQ(message([&] { groups.world_rank("pair", 2); }), "[group] bad rank of 'pair', got 2, expected 0 to 1");
    EXPECT_EQ(message([&] { groups.group_rank("pair", 7); }),
              "[group] a rank is not in 'pair', got rank 7, expected one of 1, 0");
    EXPECT_EQ(message([&] { groups.destroy("world"); }),
              "[group] the world cannot be removed, got 'world', expected a group that was created");
  });
}

}  // namespace
}  // namespace partita
