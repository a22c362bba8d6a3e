#include "base/plain_text.h"

#include <algorithm>

namespace partita {

std::string lower_case(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return result;
}

std::string_view next_word(std::string_view& text, std::string_view spaces) {
  text.remove_prefix(std::min(text.find_first_not_of(spaces), text.size()));
  const std::string_view word = text.substr(0, text.find_first_of(spaces));
  text.remove_prefix(word.size());
  return word;
}

std::vector<std::string_view> split_words(std::string_view text, std::string_view spaces) {
  std::vector<std::string_view> words;
  for (std::string_view word = next_word(text, spaces); !word.empty(); word = next_word(text, spaces)) {
    words.push_back(word);
  }
  return words;
}

std::string single_quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    lines.push_back(text.substr(0, text.find('\n')));
    text.remove_prefix(std::min(lines.back().size() + 1, text.size()));
  }
  return lines;
}

}  // namespace partita
