#include "base/same_file.h"

#include <gtest/gtest.h>

namespace partita {
namespace {

TEST(SameFile, IsOneHoweverItIsNamed) {
  EXPECT_TRUE(same_file("no/such/../file", "no/file"));
  EXPECT_TRUE(same_file("/", "/."));
  EXPECT_FALSE(same_file("no/file", "no/other"));
}

TEST(SameFile, PathsThatTheSystemRefusesDiffer) {
  const std::string long_name(300, 'a');
  EXPECT_FALSE(same_file(long_name, long_name + "b"));
  EXPECT_TRUE(same_file(long_name, long_name));
}

}  // namespace
}  // namespace partita
