#include "runtime/checkpoint/name_table.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <set>

#include "base/error.h"
#include "base/plain_text.h"
#include "base/shape.h"

namespace partita {
namespace {

constexpr int64_t kMaxParts = 1024;
constexpr int64_t kMaxNumber = int64_t{1} << 40;  // in a name

/// Returns the number that digits at the begin of `text` print, which they do without zeros before them, and removes
/// them; nothing if there is none.
std::optional<int64_t> take_number(std::string_view& text) {
  int64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto digits = static_cast<size_t>(end - text.data());
  if (failure != std::errc() || number < 0 || text[0] == '-' || (digits > 1 && text[0] == '0')) return std::nullopt;
  if (number > kMaxNumber) return std::nullopt;
  text.remove_prefix(digits);
  return number;
}

/// Whether `text` can follow a number in a pattern: names then have one reading.
bool may_follow_number(std::string_view text) { return text.empty() || (text[0] != '{' && !is_digit(text[0])); }

/// Sets what `word` says of the tensor there. Returns false if it says nothing.
bool take_how(NameRule& rule, std::string_view word) {
  if (word == "transposed") {
    rule.is_transposed = true;
    return true;
  }
  constexpr std::string_view kOnes = "ones:";
  if (word.starts_with(kOnes)) {
    word.remove_prefix(kOnes.size());
    const std::optional<int64_t> ones = word.empty() ? std::nullopt : take_number(word);
    rule.ones = ones.value_or(0);
    return ones && word.empty() && rule.ones < kMaxDims;
  }
  const std::optional<int64_t> part = word.empty() ? std::nullopt : take_number(word);
  if (!part || word.empty() || word[0] != '/') return false;
  word.remove_prefix(1);
  const std::optional<int64_t> parts = word.empty() ? std::nullopt : take_number(word);
  if (!parts || !word.empty() || *parts > kMaxParts || *part >= *parts) return false;
  rule.part = *part;
  rule.parts = *parts;
  return true;
}

/// Checks that the numbers of both names determine each other, but for one that counts tensors there. Throws
/// InvalidFile otherwise.
void bind_words(NameRule& rule, const std::string& where) {
  const std::vector<std::string> ours = rule.ours.words(), theirs = rule.theirs.words();
  const std::set<std::string> known(ours.begin(), ours.end());
  std::set<std::string> used(theirs.begin(), theirs.end());
  for (const std::string& word : known) used.erase(word);
  const bool is_lost = std::ranges::any_of(
      known, [&](const std::string& word) { return std::ranges::find(theirs, word) == theirs.end(); });
  if (is_lost || used.size() > 1 || (!used.empty() && rule.parts > 1)) {
    throw InvalidFile("{}: the names have different numbers, got [{}] and [{}], expected the same, or one more there",
                      where, fmt::join(ours, ", "), fmt::join(theirs, ", "));
  }
  if (!used.empty()) rule.stacked = *used.begin();
}

}  // namespace

NamePattern::NamePattern(std::string_view text, const std::string& where) {
  const std::string whole(text);
  while (true) {
    const size_t open = text.find('{');
    Part& part = parts_.emplace_back(Part{.text = std::string(text.substr(0, open)), .word = ""});
    if (open == std::string_view::npos) break;
    const size_t close = text.find('}', open);
    std::string_view word = text.substr(open + 1, close == std::string_view::npos ? 0 : close - open - 1);
    const size_t plus = word.find('+');
    std::string_view added = plus == std::string_view::npos ? "" : word.substr(plus + 1);
    word = word.substr(0, plus);
    std::optional<int64_t> number = 0;
    if (plus != std::string_view::npos) number = added.empty() ? std::nullopt : take_number(added);
    if (!std::ranges::all_of(word, is_letter_or_digit) || word.empty() || !number || !added.empty() ||
        *number > kMaxParts || !may_follow_number(text.substr(close + 1))) {
      throw InvalidFile(
          "{}: bad pattern, got '{}', expected words in braces, such as {{i}} or {{i+1}}, and neither a digit nor a "
          "brace right after them",
          where, whole);
    }
    part.word = std::string(word);
    part.plus = *number;
    text.remove_prefix(close + 1);
  }
}

std::optional<NamePattern::Numbers> NamePattern::match(std::string_view name) const {
  Numbers numbers;
  for (const Part& part : parts_) {
    if (!name.starts_with(part.text)) return std::nullopt;
    name.remove_prefix(part.text.size());
    if (part.word.empty()) break;
    const std::optional<int64_t> number = name.empty() ? std::nullopt : take_number(name);
    if (!number || *number < part.plus) return std::nullopt;
    const auto [known, is_new] = numbers.emplace(part.word, *number - part.plus);
    if (!is_new && known->second != *number - part.plus) return std::nullopt;
  }
  if (!name.empty()) return std::nullopt;
  return numbers;
}

std::string NamePattern::name(const Numbers& numbers) const {
  std::string name;
  for (const Part& part : parts_) {
    name += part.text;
    if (!part.word.empty()) name += fmt::format("{}", numbers.at(part.word) + part.plus);
  }
  return name;
}

std::vector<std::string> NamePattern::words() const {
  std::vector<std::string> words;
  for (const Part& part : parts_) {
    if (!part.word.empty()) words.push_back(part.word);
  }
  return words;
}

NameTable parse_name_table(std::string_view text, const std::string& path) {
  NameTable table;
  int64_t number = 0;
  for (const std::string_view line : split_lines(text)) {
    const std::string where = fmt::format("[names] {}:{}", path, ++number);
    const std::vector<std::string_view> words = split_words(line.substr(0, line.find('#')));
    if (words.empty()) continue;
    if (words.size() == 2 && words[0] == "ignored") {
      table.ignored.emplace_back(words[1], where);
      continue;
    }
    if (words.size() == 3 && words[0] == "same") {
      table.same.emplace_back(words[1], words[2]);
      continue;
    }
    if (words.size() == 2 && words[0] == "optional") {
      table.optional = words[1];
      continue;
    }
    if (words.size() < 2) {
      throw InvalidFile("{}: a name alone, got '{}', expected the name here and the name there", where, words[0]);
    }
    NameRule& rule = table.rules.emplace_back(
        NameRule{.ours = NamePattern(words[0], where), .theirs = NamePattern(words[1], where)});
    for (size_t i = 2; i < words.size(); ++i) {
      if (take_how(rule, words[i])) continue;
      throw InvalidFile("{}: unknown word, got '{}', expected transposed, ones:N, or K/N with K below N", where,
                        words[i]);
    }
    bind_words(rule, where);
  }
  return table;
}

}  // namespace partita
