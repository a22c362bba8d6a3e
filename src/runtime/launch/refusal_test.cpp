#include "runtime/launch/refusal.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>

namespace partita {
namespace {

constexpr const char* kText = "[train] the batch does not divide";

int refuse() { throw InvalidArgument(kText); }

/// Returns what is in the file of the refusal after `start`.
std::string told_by(const std::function<int()>& start) {
  const std::string path = testing::TempDir() + "refusal";
  std::filesystem::remove(path);
  ::setenv(kRefusalVariable, path.c_str(), 1);
  try {
    EXPECT_EQ(start(), 5);
  } catch (const Error&) {
  }
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Refusal, IsToldWhenTheJobHasLostRanks) {
  const Place place{.launched = LaunchedRank{.rank = 1, .size = 3}};
  const auto told = [](const Place& where, const std::function<int()>& compile) {
    return told_by([&] { return telling_refusals(where, compile); });
  };
  EXPECT_EQ(told(place, refuse), "") << "not by partita launch";
  ::setenv(kFirstSizeVariable, "3", 1);
  EXPECT_EQ(told(place, refuse), "") << "no rank was lost";
  ::setenv(kFirstSizeVariable, "4", 1);
  EXPECT_EQ(first_place(place)->ranks(), 4);
  EXPECT_EQ(told(place, refuse), kText);
  EXPECT_EQ(told(place, [] { return 5; }), "");
  EXPECT_EQ(told(place, []() -> int { throw RuntimeFailure(ExitCode::usage, "a plugin"); }), "");
  EXPECT_EQ(told(place.alone(), refuse), "");
  EXPECT_THROW(telling_refusals(place, refuse), InvalidArgument);
  ::setenv(kRefusalVariable, "/proc/no_such/file", 1);
  EXPECT_THROW(telling_refusals(place, refuse), InvalidArgument) << "a file that cannot be written";
  ::unsetenv(kRefusalVariable);
  ::unsetenv(kFirstSizeVariable);
}

TEST(Refusal, OfAQuickCheckIsToldIfItIsForTheNumber) {
  const Place place{.launched = LaunchedRank{.rank = 1, .size = 3}};
  const auto told = [&](const std::function<int(const Place&)>& check) {
    return told_by([&] { return telling_number(place, check); });
  };
  ::setenv(kFirstSizeVariable, "4", 1);
  EXPECT_EQ(told([](const Place& where) { return where.ranks() == 4 ? 5 : refuse(); }),
            std::string("3 ranks: ") + kText);
  EXPECT_EQ(told([](const Place&) { return refuse(); }), "");
  EXPECT_EQ(told([](const Place&) { return 5; }), "");
  ::unsetenv(kRefusalVariable);
  ::unsetenv(kFirstSizeVariable);
}

}  // namespace
}  // namespace partita
