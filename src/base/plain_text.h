#pragma once
// Texts read without a locale: a user's program may have set any, and in some a point does not begin a fraction, digits
// are grouped, or letters are other ones (tools/check_calls.py).

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace partita {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
constexpr bool is_letter(char c) { return is_lower(c) || (c >= 'A' && c <= 'Z'); }
constexpr bool is_letter_or_digit(char c) { return is_letter(c) || is_digit(c); }

/// Returns the text with the letters A to Z as small ones.
std::string lower_case(std::string_view text);

/// Removes the first word from `text` and returns it; "" if none is left. Words are separated by the characters of
/// `spaces`.
std::string_view next_word(std::string_view& text, std::string_view spaces = " \t\r\n");

/// Returns the words of a text, as parts of it.
std::vector<std::string_view> split_words(std::string_view text, std::string_view spaces = " \t\r\n");

/// Returns `text` between single quotes for a shell, with '\'' for each single quote in it.
std::string single_quoted(const std::string& text);

/// Returns the lines of a text without their ends, as parts of it. The last one may lack its end.
std::vector<std::string_view> split_lines(std::string_view text);

/// Returns the number that a whole text states; nullopt for any other text, and for a number out of range.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace partita
