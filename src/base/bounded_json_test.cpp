#include "base/bounded_json.h"

#include <gtest/gtest.h>

namespace partita {
namespace {

std::string refusal(const std::string& text, int64_t max_values = kMaxJsonValues) {
  try {
    parse_bounded_json(text, max_values);
  } catch (const BadJson& error) {
    return error.what();
  }
  return "none";
}

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

TEST(BoundedJson, RefusesWhatIsNoJson) {
  EXPECT_EQ(refusal(R"({"a":[1,2.5,true,null,"b"]})"), "none");
  EXPECT_EQ(refusal(""), "an error at byte 1");
  EXPECT_EQ(refusal("[1"), "an error at byte 3");
  EXPECT_EQ(refusal("\"\x80\""), "an error at byte 2");
  EXPECT_EQ(refusal("[1e999]"), "a number that is too large");
}

TEST(BoundedJson, SixteenListsOrObjectsInOneAnotherAreRead) {
  for (const auto& [open, close] : {std::pair("[", "]"), std::pair("{\"a\":", "}")}) {
    const std::string inside = open[0] == '[' ? "" : "0";
    EXPECT_EQ(refusal(repeated(open, 16) + inside + repeated(close, 16)), "none") << open;
    for (const int depth : {17, 18, 1000, 200'000}) {
      EXPECT_EQ(refusal(repeated(open, depth) + inside + repeated(close, depth)), "more than 16 nested lists");
      // The limit applies before the end of the text is reached, anywhere in a document.
      EXPECT_EQ(refusal("{\"b\":1,\"a\":" + repeated(open, depth)), "more than 16 nested lists");
    }
  }
}

TEST(BoundedJson, KeysOfOneObjectAreCountedAndFoundThroughAMap) {
  const auto object = [](int64_t keys) {
    std::string text = "{";
    for (int64_t i = 0; i < keys; ++i) text += fmt::format("{}\"key {}\":{}", i > 0 ? "," : "", i, i);
    return text + "}";
  };
  const nlohmann::json largest = parse_bounded_json(object(kMaxJsonKeys));
  EXPECT_EQ(largest["key 99999"], 99'999);
  EXPECT_EQ(refusal(object(kMaxJsonKeys + 1)), "more than 100000 keys in an object");
  // Each object has a separate count, also after an object inside it.
  const std::string half = object(60'000);
  EXPECT_EQ(refusal("[" + half + "," + half + "]"), "none");
  std::string around = half;
  around.insert(1, "\"inside\":" + half + ",");
  EXPECT_EQ(refusal(around), "none");
}

TEST(BoundedJson, ValuesOfADocumentAreCounted) {
  EXPECT_EQ(refusal("[1,[2],{\"a\":3}]", 6), "none");
  EXPECT_EQ(refusal("[1,[2],{\"a\":3}]", 5), "more than 5 values");
  EXPECT_EQ(refusal("[" + repeated("0,", 1 << 22)), "more than 4194304 values");
}

TEST(BoundedJson, ReadsManyObjectsOfOneListInLinearTime) {
  // A quadratic reader needs minutes for this list.
  const std::string list = "[" + repeated("{},", 499'999) + "{}]";
  EXPECT_EQ(parse_bounded_json(list).size(), 500'000U);
}

TEST(BoundedJson, TheLastOfTwoEqualKeysCounts) { EXPECT_EQ(parse_bounded_json(R"({"a":1,"a":2})")["a"], 2); }

}  // namespace
}  // namespace partita
