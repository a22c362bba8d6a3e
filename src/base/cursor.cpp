#include "base/cursor.h"

#include <charconv>

#include "base/error.h"

namespace partita {
namespace {

constexpr size_t kShown = 20;

bool is_alphanumeric(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

}  // namespace

void Cursor::fail(std::string_view what, std::string_view got, std::string_view expected) const {
  throw InvalidArgument(message(what, got, expected));
}

void Cursor::set_rest(std::string_view line) {
  rest_ = line;
  take(size_t{0});
}

std::string_view Cursor::take(size_t count) {
  const std::string_view taken = rest_.substr(0, count);
  rest_.remove_prefix(taken.size());
  while (!rest_.empty() && rest_.front() == ' ') rest_.remove_prefix(1);
  return taken;
}

bool Cursor::take(std::string_view token) {
  if (!rest_.starts_with(token)) return false;
  take(token.size());
  return true;
}

void Cursor::expect(std::string_view token) {
  if (!take(token)) fail("unexpected text", rest_.substr(0, kShown), fmt::format("'{}'", token));
}

std::string_view Cursor::until(std::string_view token) {
  const size_t end = rest_.find(token);
  if (end == std::string_view::npos)
    fail("unexpected text", rest_.substr(0, kShown), fmt::format("'{}' after it", token));
  const std::string_view before = rest_.substr(0, end);
  take(end + token.size());
  return before;
}

std::string Cursor::word(std::string_view also, std::string_view expected) {
  size_t end = 0;
  while (end < rest_.size() && (is_alphanumeric(rest_[end]) || also.find(rest_[end]) != also.npos)) ++end;
  if (end == 0) fail("unexpected text", rest_.substr(0, kShown), expected);
  std::string result(rest_.substr(0, end));
  take(end);
  return result;
}

int64_t Cursor::number(int64_t least, int64_t most, std::string_view expected) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
  if (error != std::errc{} || value < least || value > most) {
    const std::string range = expected.empty() ? fmt::format("{} to {}", least, most) : std::string(expected);
    fail("bad number", rest_.substr(0, kShown), range);
  }
  take(static_cast<size_t>(end - rest_.data()));
  return value;
}

int Cursor::integer() {
  int value = 0;
  const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
  if (error != std::errc{}) fail("unexpected text", rest_.substr(0, kShown), "an integer");
  take(static_cast<size_t>(end - rest_.data()));
  return value;
}

void Cursor::end(std::string_view expected) const {
  if (!rest_.empty()) fail("unexpected text", rest_.substr(0, kShown), expected);
}

}  // namespace partita
