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

}  // namespace
}  // namespace partita
