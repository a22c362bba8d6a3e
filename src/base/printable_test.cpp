#include "base/printable.h"

#include <gtest/gtest.h>

namespace partita {
namespace {

TEST(Printable, OnlyWhatATerminalMayGet) {
  EXPECT_EQ(printable("a\tb\x7f\x1b[0m"), "a?b??[0m");
  EXPECT_EQ(printable("h\u00fclle \u20ac \U0001f600"), "h\u00fclle \u20ac \U0001f600");
  EXPECT_EQ(printable("\xc2\x85 \xc0\xaf \xe2\x82 \xed\xa0\x80 \xf5\x80\x80\x80 \x80"), "?? ?? ?? ??? ???? ?");
  EXPECT_EQ(printable("\xe2"), "?");
}

}  // namespace
}  // namespace partita
