#include "runtime/checkpoint/json_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace partita {
namespace {

TEST(JsonTexts, AreQuotedAndEscaped) {
  EXPECT_EQ(json_of(""), R"("")");
  EXPECT_EQ(json_of("tiles:layer.0/w [3]"), R"("tiles:layer.0/w [3]")");
  EXPECT_EQ(json_of("a\"b\\c\n"), R"("a\"b\\c\n")");
  EXPECT_EQ(json_of("é"), "\"é\"");
  std::string json = "[";
  append_json(json, "x");
  EXPECT_EQ(json, R"(["x")");
}

TEST(JsonTexts, AreReadAsTheyWere) {
  for (int letter = 0; letter < 0x80; ++letter) {
    const std::string text = std::string("a") + static_cast<char>(letter) + "b";
    EXPECT_EQ(nlohmann::json::parse(json_of(text)).get<std::string>(), text) << letter;
  }
}

}  // namespace
}  // namespace partita
