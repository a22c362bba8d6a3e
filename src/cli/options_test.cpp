#include "cli/options.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace partita {
namespace {

TEST(Options, Ranges) {
  EXPECT_NO_THROW(check_range("--ranks", 1, 1, 8));
  EXPECT_THROW(check_range("--ranks", 0, 1, 8), InvalidArgument);
  EXPECT_THROW(check_range("--ranks", 9, 1, 8), InvalidArgument);
}

TEST(Options, OnlyWhatATerminalMayGet) {
  EXPECT_EQ(printable("a\tb\x7f\x1b[0m"), "a?b??[0m");
  EXPECT_EQ(printable("h\u00fclle \u20ac \U0001f600"), "h\u00fclle \u20ac \U0001f600");
  EXPECT_EQ(printable("\xc2\x85 \xc0\xaf \xe2\x82 \xed\xa0\x80 \xf5\x80\x80\x80 \x80"), "?? ?? ?? ??? ???? ?");
  EXPECT_EQ(printable("\xe2"), "?");
}

TEST(Options, SameFile) {
  EXPECT_TRUE(same_file("no/such/../file", "no/file"));
  EXPECT_TRUE(same_file("/", "/."));
  EXPECT_FALSE(same_file("no/file", "no/other"));
}

}  // namespace
}  // namespace partita
