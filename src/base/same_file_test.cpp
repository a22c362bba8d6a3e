#include "base/same_file.h"

#include <gtest/gtest.h>

namespace partita {
namespace {

TEST(SameFile, IsOneHoweverItIsNamed) {
  EXPECT_TRUE(same_file("no/such/../file", "no/file"));
  EXPECT_TRUE(same_file("/", "/."));
  EXPECT_FALSE(same_file("no/file", "no/other"));
}

}  // namespace
}  // namespace partita
