#include "runtime/checkpoint/json_text.h"

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "base/error.h"

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

// Other bytes would make files that no reader of JSON takes.
TEST(JsonTexts, OfOtherBytesThanUtf8AreRefused) {
  const std::string bytes[] = {"\xff", "\xc3", "\xed\xa0\x80", "\xc0\xaf"};
  for (const std::string& bad : bytes) {
    const std::string text = "w" + bad;
    const auto refused = [](const std::function<void()>& print, const std::string& shown) {
      try {
        print();
        FAIL() << "printed";
      } catch (const InvalidArgument& error) {
        EXPECT_STREQ(
            error.what(),
            ("[checkpoint] a name or text is not UTF-8, got other bytes in " + shown + ", expected UTF-8").c_str());
      }
    };
    refused([&] { json_of(text); }, R"("w")");
    refused([&] { print_json({{"plan", text}, {"step", 3}}); }, R"({"plan":"w","step":3})");
  }
}

}  // namespace
}  // namespace partita
