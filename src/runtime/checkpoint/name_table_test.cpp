#include "runtime/checkpoint/name_table.h"

#include <gtest/gtest.h>

#include <random>

#include "base/error.h"

namespace partita {
namespace {

std::string table_refusal(const std::string& text) {
  try {
    parse_name_table(text, "t.txt");
    return "";
  } catch (const InvalidFile& error) {
    return error.what();
  }
}

std::string names_differ(const std::string& ours, const std::string& theirs) {
  return "[names] t.txt:1: the names have different numbers, got [" + ours + "] and [" + theirs +
         "], expected the same, or one more there";
}

TEST(NameTable, LinesAreRules) {
  const NameTable table = parse_name_table(
      "# all kinds\n"
      "\n"
      "a.{i}.{j}  x.{j}.{i+1} transposed 1/3  # a part\n"
      "e.{i}      y.{i}.{e}\tones:2\r\n"
      "ignored z.{i}\n"
      "optional model.",
      "t.txt");
  ASSERT_EQ(table.rules.size(), 2u);
  EXPECT_TRUE(table.rules[0].is_transposed);
  EXPECT_EQ(table.rules[0].part, 1);
  EXPECT_EQ(table.rules[0].parts, 3);
  EXPECT_FALSE(table.rules[0].stacked);
  EXPECT_EQ(table.rules[1].stacked, "e");
  EXPECT_EQ(table.rules[1].ones, 2);
  ASSERT_EQ(table.ignored.size(), 1u);
  EXPECT_TRUE(table.ignored[0].match("z.7"));
  EXPECT_EQ(table.optional, "model.");
  EXPECT_TRUE(parse_name_table("", "t.txt").rules.empty());
  const NamePattern::Numbers numbers{{"i", 4}, {"j", 9}};
  EXPECT_EQ(table.rules[0].ours.match("a.4.9"), numbers);
  EXPECT_EQ(table.rules[0].theirs.name(numbers), "x.9.5");
}

TEST(NameTable, EveryMalformedLineIsNamed) {
  EXPECT_EQ(table_refusal("a b\nalone"),
            "[names] t.txt:2: a name alone, got 'alone', expected the name here and the name there");
  EXPECT_EQ(table_refusal("ignored"),
            "[names] t.txt:1: a name alone, got 'ignored', expected the name here and the name there");
  for (const char* word : {"transpose", "ones:", "ones:1000", "ones:-1", "ones:x", "1/1", "3/2", "0/0", "1/", "/2",
                           "0/01", "0/1025", "-0/2", "0/2x", "99999999999999999999/2"}) {
    EXPECT_EQ(table_refusal(fmt::format("a b {}", word)),
              fmt::format("[names] t.txt:1: unknown word, got '{}', expected transposed, ones:N, or K/N with K below N",
                          word));
  }
  for (const char* name : {"a{", "a{}", "a{i", "a{+1}", "a{i+}", "a{i+x}", "a{i+-1}", "a{i+1025}", "a{i+1+1}", "a{i}0",
                           "a{i}{j}", "a{{i}}", "a{i.j}", "a{i+01}"}) {
    const std::string message = fmt::format(
        "[names] t.txt:1: bad pattern, got '{}', expected words in braces, such as {{i}} or {{i+1}}, and neither a "
        "digit nor a brace right after them",
        name);
    EXPECT_EQ(table_refusal(fmt::format("{} b", name)), message);
    EXPECT_EQ(table_refusal(fmt::format("b {}", name)), message);
    EXPECT_EQ(table_refusal(fmt::format("ignored {}", name)), message);
  }
  EXPECT_EQ(table_refusal("a.{i} b"), names_differ("i", ""));
  EXPECT_EQ(table_refusal("a.{i} b.{j}"), names_differ("i", "j"));
  EXPECT_EQ(table_refusal("a b.{i}.{j}"), names_differ("", "i, j"));
  EXPECT_EQ(table_refusal("a b.{i} 0/2"), names_differ("", "i"));
}

TEST(NameTable, OtherNumbersDoNotMatch) {
  const NamePattern pattern("h.{i}.x.{j+1}.{i}", "here");
  EXPECT_TRUE(pattern.match("h.2.x.1.2"));
  for (const char* name : {"h.2.x.1.3", "h.2.x.0.2", "h.02.x.1.2", "h..x.1.2", "h.-2.x.1.-2", "h.2.x.1.2.", "h.2.x.1.",
                           "H.2.x.1.2", "", "h.2", "h.+2.x.1.2", "h.99999999999999999999.x.1.99999999999999999999",
                           "h.9223372036854775807.x.1.9223372036854775807"}) {
    EXPECT_FALSE(pattern.match(name)) << name;
  }
}

/// Returns a pattern of up to four words, some of them twice, and the words.
std::pair<std::string, std::vector<std::string>> random_pattern(std::mt19937& random) {
  const std::vector<std::string> texts{"h.", ".w", "layer", ".a_", "-x.", "_", "."};
  std::string text = random() % 3 == 0 ? "" : texts[random() % texts.size()];
  std::vector<std::string> words;
  for (size_t count = random() % 5; count > 0; --count) {
    words.push_back(std::string(1, static_cast<char>('i' + random() % 4)));
    text += "{" + words.back() + (random() % 3 == 0 ? fmt::format("+{}", random() % 20) : "") + "}";
    text += texts[random() % texts.size()];
  }
  return {text, words};
}

// Match and name are inverse: the numbers of a name are those that made it, and no other name matches.
TEST(NameTable, MatchIsTheInverseOfName) {
  std::mt19937 random(5);
  for (int round = 0; round < 3000; ++round) {
    const auto [text, words] = random_pattern(random);
    const NamePattern pattern(text, "here");
    EXPECT_EQ(pattern.words(), words);
    NamePattern::Numbers numbers;
    for (const std::string& word : words) numbers[word] = static_cast<int64_t>(random() % (random() % 2 ? 12 : 100000));
    std::string name = pattern.name(numbers);
    ASSERT_EQ(pattern.match(name), numbers) << text << " of " << name;
    // What matches after a random change is printed as it was read.
    for (int change = 0; change < 20 && !name.empty(); ++change) {
      std::string other = name;
      other[random() % other.size()] = "0123459.hw_-{"[random() % 13];
      if (random() % 4 == 0) other.erase(random() % other.size(), 1);
      const auto found = pattern.match(other);
      if (!found) continue;
      ASSERT_EQ(pattern.name(*found), other) << text;
    }
  }
}

// Both names of a rule have the same numbers.
TEST(NameTable, RulesTranslateBothWays) {
  std::mt19937 random(6);
  int rules = 0;
  for (int round = 0; round < 2000; ++round) {
    const std::string ours = random_pattern(random).first, theirs = random_pattern(random).first;
    if (ours.empty() || theirs.empty() || ours == "ignored" || ours == "optional") continue;
    NameTable table;
    try {
      table = parse_name_table(ours + " " + theirs, "t.txt");
    } catch (const InvalidFile&) {
      continue;
    }
    ++rules;
    NamePattern::Numbers numbers;
    for (const std::string& word : table.rules[0].theirs.words()) numbers[word] = static_cast<int64_t>(random() % 50);
    const auto back = table.rules[0].theirs.match(table.rules[0].theirs.name(numbers));
    ASSERT_EQ(back, numbers);
    NamePattern::Numbers here = *back;
    if (table.rules[0].stacked) here.erase(*table.rules[0].stacked);
    ASSERT_EQ(table.rules[0].ours.match(table.rules[0].ours.name(*back)), here) << ours << " " << theirs;
  }
  EXPECT_GT(rules, 100);
}

}  // namespace
}  // namespace partita
