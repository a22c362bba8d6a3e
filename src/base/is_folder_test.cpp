#include "base/is_folder.h"

#include <gtest/gtest.h>

namespace partita {
namespace {

TEST(IsFolder, NeverThrows) {
  EXPECT_TRUE(is_folder("/"));
  EXPECT_FALSE(is_folder(""));
  EXPECT_FALSE(is_folder("/no/such/folder"));
  EXPECT_FALSE(is_folder("/dev/null"));
  EXPECT_FALSE(is_folder(std::string(100'000, 'x')));
  EXPECT_FALSE(is_folder("/dev/null/below/a/file"));
}

}  // namespace
}  // namespace partita
