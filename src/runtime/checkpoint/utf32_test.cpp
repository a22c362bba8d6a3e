#include "runtime/checkpoint/utf32.h"

#include <gtest/gtest.h>

namespace partita {
namespace {

using namespace std::string_literals;

TEST(Utf32, ConvertsBothWays) {
  for (const std::string& text : {""s, "a"s, "Zoë 東京"s, "\xf0\x9f\x8e\xbb"s, "\xf4\x8f\xbf\xbf"s}) {
    EXPECT_TRUE(is_utf8(text));
    EXPECT_EQ(utf8_of(*utf32_of(text)), text);
  }
  EXPECT_EQ(utf32_of("aé"), "a\0\0\0\xe9\0\0\0"s);
}

TEST(Utf32, ZerosAtTheEndAreNoPartOfAText) {
  EXPECT_EQ(utf8_of("a\0\0\0\0\0\0\0b\0\0\0\0\0\0\0"s), "a\0b"s);
  EXPECT_EQ(utf8_of("\0\0\0\0"s), ""s);
}

TEST(Utf32, RefusesOtherBytes) {
  EXPECT_FALSE(utf8_of("abc"));
  EXPECT_FALSE(utf8_of("\0\xd8\0\0"s));  // half of a pair
  EXPECT_FALSE(utf8_of("\0\0\x11\0"s));  // beyond the last code
  for (const char* text : {"\x80", "\xc3", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xff"}) {
    EXPECT_FALSE(is_utf8(text));
    EXPECT_FALSE(utf32_of(text));
  }
}

}  // namespace
}  // namespace partita
