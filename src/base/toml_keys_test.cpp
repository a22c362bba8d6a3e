#include "base/toml_keys.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace partita {
namespace {

std::string key_of(int parts, const std::string& between = ".") {
  std::string key = "a";
  for (int i = 1; i < parts; ++i) key += between + "a";
  return key;
}

TEST(TomlKeys, AreCountedPartByPart) {
  EXPECT_FALSE(line_of_deep_key(""));
  EXPECT_FALSE(line_of_deep_key(key_of(kMaxTomlKeyParts) + " = 1\n[" + key_of(kMaxTomlKeyParts) + "]\n"));
  const std::string deep = key_of(kMaxTomlKeyParts + 1);
  EXPECT_EQ(line_of_deep_key(deep + " = 1\n"), 1);
  EXPECT_EQ(line_of_deep_key("b = 1\n[" + deep + "]\n"), 2);
  EXPECT_EQ(line_of_deep_key("b = [\n{" + deep + " = 1}]\n"), 2);
  EXPECT_EQ(line_of_deep_key(key_of(17, " . ")), 1);
  EXPECT_EQ(line_of_deep_key(key_of(17, R"(."=".)")), 1);
  EXPECT_EQ(line_of_deep_key(key_of(17, R"(.'\'.'"'.)")), 1);
}

TEST(TomlKeys, AreNotInTextsAndComments) {
  const std::string dots(1000, '.'), three = R"(""")";
  for (const std::string& text :
       {"# " + dots + "\n", "b = \"" + dots + "\"\n", "b = '" + dots + "'\n", "b = \"\\\"" + dots + "\"\n",
        "b = " + three + "\n" + dots + "\n" + dots + three + "\"\"\n",
        "b = " + three + "\\\"\"\"" + dots + three + "\n", "b = '''\n'" + dots + "\n'''\n",
        std::string("b = [0.5, 1.5,\n 2.5]\n")}) {
    EXPECT_FALSE(line_of_deep_key(text)) << text;
    const auto lines = std::ranges::count(text, '\n');
    EXPECT_EQ(line_of_deep_key(text + "\n[" + key_of(17) + "]"), lines + 2) << text;
  }
  // An unterminated string: the parser gets no further either.
  EXPECT_FALSE(line_of_deep_key("b = " + three + dots));
}

}  // namespace
}  // namespace partita
