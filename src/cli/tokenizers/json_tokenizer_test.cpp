// Ids that were recorded from Hugging Face's tokenizers 0.23 are in the tests; tests/scripts/compare_ids.sh asks it
// anew.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/tokenizers/byte_pairs.h"
#include "cli/tokenizers/tokenizer.h"
#include "frontend/data/readers/test_files.h"

namespace partita {
namespace {

using Json = nlohmann::json;
using TokenIds = std::vector<int32_t>;

/// Returns a tokenizer of bytes with a few merges: the, \xc4\xa0t + he, \xc3\xa9, 12, 123.
Json small_tokenizer() {
  Json vocabulary;
  for (int byte = 0; byte < 256; ++byte) vocabulary[character_of(static_cast<uint8_t>(byte))] = byte;
  int id = 256;
  Json merges;
  const std::string space = character_of(' '), first = character_of(0xc3), second = character_of(0xa9);
  for (const auto& [left, right] : std::vector<std::pair<std::string, std::string>>{
           {"h", "e"}, {space, "t"}, {space + "t", "he"}, {first, second}, {"1", "2"}, {"12", "3"}, {"t", "he"}}) {
    vocabulary[left + right] = id++;
    merges.push_back(left + " " + right);
  }
  return {{"normalizer", nullptr},
          {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", true}}},
          {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", merges}}},
          {"added_tokens", Json::array({{{"id", 300}, {"content", "<|end|>"}, {"normalized", false}}})}};
}

TokenIds encoded(const Json& tokenizer, const std::string& text) {
  TokenIds ids;
  parse_json_tokenizer(tokenizer.dump(), "t.json")->encode(text, ids);
  return ids;
}

TEST(JsonTokenizer, MergesByRankWithinWords) {
  const Json small = small_tokenizer();
  EXPECT_EQ(encoded(small, ""), TokenIds{});
  EXPECT_EQ(encoded(small, "the the"), (TokenIds{262, 258}));
  EXPECT_EQ(encoded(small, "he\n the"), (TokenIds{256, '\n', 258}));
  EXPECT_EQ(encoded(small, "th e1234"), (TokenIds{'t', 'h', ' ', 'e', 261, '4'}));
  EXPECT_EQ(encoded(small, "\xc3\xa9"), TokenIds{259});
  EXPECT_EQ(encoded(small, "they've  12"), (TokenIds{262, 'y', '\'', 'v', 'e', ' ', ' ', 260}));
  const auto tokenizer = parse_json_tokenizer(small.dump(), "t.json");
  EXPECT_EQ(tokenizer->vocabulary(), 301);
  EXPECT_EQ(tokenizer->id_of("<|end|>"), 300);
  EXPECT_EQ(tokenizer->id_of("<|begin|>"), std::nullopt);
  TokenIds twice;
  tokenizer->encode("the", twice);
  tokenizer->encode("the", twice);
  EXPECT_EQ(twice, (TokenIds{262, 262}));
}

TEST(JsonTokenizer, AddedTokensAreFoundFirst) {
  Json small = small_tokenizer();
  EXPECT_EQ(encoded(small, "the<|end|>the<|end"), (TokenIds{262, 300, 262, '<', '|', 'e', 'n', 'd'}));
  small["added_tokens"].push_back({{"id", 301}, {"content", "<|end|>x"}, {"normalized", false}, {"rstrip", true}});
  EXPECT_EQ(encoded(small, "<|end|>x \n the<|end|>"), (TokenIds{301, 262, 300}));
  small["added_tokens"][0]["lstrip"] = true;
  EXPECT_EQ(encoded(small, "he \xe2\x80\x83<|end|>"), (TokenIds{256, 300}));
}

TEST(JsonTokenizer, StepsAreThoseOfTheFile) {
  Json small = small_tokenizer();
  small["pre_tokenizer"]["add_prefix_space"] = true;
  EXPECT_EQ(encoded(small, "the"), TokenIds{258});
  EXPECT_EQ(encoded(small, " the"), TokenIds{258});
  small["normalizer"] = {{"type", "Sequence"}, {"normalizers", Json::array({{{"type", "NFC"}}})}};
  small["pre_tokenizer"] = {
      {"type", "Sequence"},
      {"pretokenizers", Json::array({{{"type", "Digits"}, {"individual_digits", true}},
                                     {{"type", "Split"}, {"pattern", {{"String", "|"}}}, {"behavior", "Removed"}},
                                     {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}}})}};
  EXPECT_EQ(encoded(small, "e\xcc\x81|12|the the"), (TokenIds{259, '1', '2', 262, 258}));
  small["model"]["ignore_merges"] = true;
  small["model"]["vocab"]["xyz"] = 299;
  EXPECT_EQ(encoded(small, "xyz|xyzz"), (TokenIds{299, 'x', 'y', 'z', 'z'}));
}

TEST(JsonTokenizer, TextsThatGoOnGetNoSpace) {
  Json small = small_tokenizer();
  small["pre_tokenizer"]["add_prefix_space"] = true;
  const auto tokenizer = parse_json_tokenizer(small.dump(), "t.json");
  TokenIds ids;
  tokenizer->encode_continued("the the", ids);
  EXPECT_EQ(ids, (TokenIds{262, 258}));
  ids.clear();
  tokenizer->encode_continued("the<|end|>the", ids);
  EXPECT_EQ(ids, (TokenIds{262, 300, 258}));
  tokenizer->encode_continued("the", ids);
  EXPECT_EQ(ids, (TokenIds{262, 300, 258, 262}));
  ids = {300};
  tokenizer->encode_continued("the", ids);
  EXPECT_EQ(ids, (TokenIds{300, 258}));
  ids.clear();
  tokenizer->encode_continued("<|end|>", ids);
  tokenizer->encode("the", ids);
  EXPECT_EQ(ids, (TokenIds{300, 258}));
}

// 200,000 letters are one word, which is not merged in quadratic time.
TEST(JsonTokenizer, LongWordsAreFast) {
  std::string word;
  for (int i = 0; i < 200000; ++i) word += "the";
  const TokenIds ids = encoded(small_tokenizer(), word);
  EXPECT_EQ(ids, TokenIds(200000, 262));
}

TEST(JsonTokenizer, WhatIsNotSupportedIsRefused) {
  const auto refuses = [](const std::function<void(Json&)>& change, const std::string& part) {
    Json small = small_tokenizer();
    change(small);
    expect_error<InvalidFile>([&] { parse_json_tokenizer(small.dump(), "t.json"); }, part);
  };
  expect_error<InvalidFile>([] { parse_json_tokenizer("{", "t.json"); }, "[tokenizer] 't.json': no JSON, got an error");
  refuses([](Json& t) { t = 5; }, "not a tokenizer, got number, expected an object");
  refuses([](Json& t) { t["normalizer"] = {{"type", "Lowercase"}}; }, "normalizer not supported, got Lowercase");
  refuses([](Json& t) { t.erase("pre_tokenizer"); }, "the tokenizer is not byte-level, got no ByteLevel");
  refuses([](Json& t) { t["pre_tokenizer"] = {{"type", "Metaspace"}}; }, "pre-tokenizer not supported, got Metaspace");
  refuses([](Json& t) { t.erase("model"); }, "no model, got null");
  refuses([](Json& t) { t["model"]["type"] = "Unigram"; }, "model not supported, got Unigram, expected BPE");
  refuses([](Json& t) { t["model"]["byte_fallback"] = true; }, "byte_fallback not supported");
  refuses([](Json& t) { t["model"]["end_of_word_suffix"] = "</w>"; }, "'end_of_word_suffix' not supported, got </w>");
  refuses([](Json& t) { t["model"]["vocab"].erase("a"); }, "a byte is not in the vocabulary, got 'a'");
  refuses([](Json& t) { t["model"]["vocab"]["a"] = -1; }, "wrong id, got -1, expected 0 to 2147483646");
  refuses([](Json& t) { t["model"]["vocab"]["a"] = "x"; }, "wrong id, got string");
  refuses([](Json& t) { t["model"]["merges"].push_back("a"); }, "wrong merge, got 'a', expected two tokens");
  refuses([](Json& t) { t["model"]["merges"].push_back(7); }, "wrong merge, got number as number 7");
  refuses([](Json& t) { t["model"]["merges"].push_back("a b"); }, "a merge is not in the vocabulary, got 'ab'");
  refuses([](Json& t) { t["added_tokens"][0]["single_word"] = true; }, "single_word not supported");
  refuses([](Json& t) { t["added_tokens"] = 1; }, "no list 'added_tokens', got number");
  const auto split = [](const std::string& regex, const std::string& behavior) {
    return [=](Json& t) {
      t["pre_tokenizer"] = {
          {"type", "Sequence"},
          {"pretokenizers", Json::array({{{"type", "Split"}, {"pattern", {{"Regex", regex}}}, {"behavior", behavior}},
                                         {{"type", "ByteLevel"}}})}};
    };
  };
  refuses(split("a", "MergedWithNext"), "behavior of a split not supported, got MergedWithNext");
  refuses(split("(", "Isolated"), "[tokenizer] wrong pattern, got '('");
  refuses(split("\\w+", "Isolated"), "[tokenizer] pattern not supported, got \\w in '\\w+'");
  refuses(split("[a&&b]", "Isolated"), "pattern not supported, got &&");
}

// The pattern would need steps without end.
TEST(JsonTokenizer, PatternsThatTakeTooLongAreRefused) {
  Json small = small_tokenizer();
  small["pre_tokenizer"] = {
      {"type", "Sequence"},
      {"pretokenizers",
       Json::array({{{"type", "Split"}, {"pattern", {{"Regex", "(a+)+\\p{Lu}"}}}, {"behavior", "Isolated"}},
                    {{"type", "ByteLevel"}}})}};
  expect_error<InvalidFile>([&] { encoded(small, std::string(60, 'a') + "b"); }, "a pattern fails at byte 0 of a text");
}

}  // namespace
}  // namespace partita
