#include "ir/graph/name_index.h"

#include <gtest/gtest.h>

#include <unordered_map>

#include "base/philox.h"

namespace partita {
namespace {

TEST(NameIndex, KnowsWhatWasInserted) {
  NameIndex index;
  EXPECT_EQ(index.find("a"), -1);
  EXPECT_TRUE(index.insert("a"));
  EXPECT_TRUE(index.insert(""));
  EXPECT_FALSE(index.insert("a"));
  EXPECT_EQ(index.find("a"), 0);
  EXPECT_EQ(index.find(""), 1);
  EXPECT_EQ(index.find("ab"), -1);
  EXPECT_EQ(index.size(), 2);
}

// Many names, some inserted repeatedly, with reserves in between.
TEST(NameIndex, IsAMap) {
  NameIndex index;
  std::unordered_map<std::string, int64_t> oracle;
  for (uint64_t i = 0; i < 20000; ++i) {
    if (i == 300) index.reserve(1000);
    const std::string name = "matmul" + std::to_string(random_below(1, i, 0, 9000));
    EXPECT_EQ(index.insert(name), oracle.emplace(name, oracle.size()).second) << name;
  }
  ASSERT_EQ(index.size(), oracle.size());
  for (const auto& [name, position] : oracle) EXPECT_EQ(index.find(name), position) << name;
  for (uint64_t i = 9000; i < 9100; ++i) EXPECT_EQ(index.find("matmul" + std::to_string(i)), -1);
}

TEST(NameIndex, CopiesStandAlone) {
  NameIndex first;
  first.insert("x");
  NameIndex second = first;
  second.insert("y");
  EXPECT_EQ(first.find("y"), -1);
  EXPECT_EQ(second.find("x"), 0);
}

}  // namespace
}  // namespace partita
