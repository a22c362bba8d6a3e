#include "base/scanner.h"

#include <algorithm>
#include <charconv>

namespace partita {
namespace {

constexpr size_t kMaxText = size_t{64} << 20;
constexpr int64_t kMostBytes = int64_t{1} << 60;

bool is_alphanumeric(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

}  // namespace

Scanner::Scanner(std::string what, std::string_view text, std::string_view otherwise, std::string_view version)
    : what_(std::move(what)), text_(text) {
  if (text.size() > kMaxText) fail("text too large", fmt::format("{} bytes", text.size()), "at most 64 MiB");
  const std::string name = fmt::format("partita {} ", what_), header = name + "1";
  next_line();
  line_ = 1;
  if (rest_ == header) return;
  const std::string_view wrong = rest_.starts_with(name) ? version : otherwise;
  fail(wrong, rest_.substr(0, 40), fmt::format("'{}'", header));
}

bool Scanner::next() {
  while (next_line()) {
    if (!rest_.empty() && rest_.front() != '#') return true;
  }
  return false;
}

bool Scanner::next_line() {
  if (text_.empty()) return false;
  const size_t end = std::min(text_.find('\n'), text_.size());
  rest_ = text_.substr(0, end);
  text_.remove_prefix(std::min(end + 1, text_.size()));
  while (!rest_.empty() && (rest_.back() == '\r' || rest_.back() == ' ')) rest_.remove_suffix(1);
  take(0);
  ++line_;
  return true;
}

void Scanner::fail(std::string_view what, std::string_view got, std::string_view expected) const {
  throw InvalidArgument(fmt::format("[{} line {}] {}, got '{}', expected {}", what_, line_, what, got, expected));
}

std::string_view Scanner::take(size_t count) {
  const std::string_view taken = rest_.substr(0, count);
  rest_.remove_prefix(taken.size());
  while (!rest_.empty() && rest_.front() == ' ') rest_.remove_prefix(1);
  return taken;
}

void Scanner::go_to(int line, std::string_view rest) {
  line_ = line;
  rest_ = rest;
}

bool Scanner::take(std::string_view token) {
  if (!rest_.starts_with(token)) return false;
  take(token.size());
  return true;
}

void Scanner::expect(std::string_view token) {
  if (!take(token)) fail("unexpected text", rest_.substr(0, 20), fmt::format("'{}'", token));
}

std::string_view Scanner::until(std::string_view token) {
  const size_t end = rest_.find(token);
  if (end == std::string_view::npos) fail("unexpected text", rest_.substr(0, 20), fmt::format("'{}' behind it", token));
  const std::string_view before = rest_.substr(0, end);
  take(end + token.size());
  return before;
}

std::string Scanner::word(std::string_view also) {
  size_t end = 0;
  while (end < rest_.size() && (is_alphanumeric(rest_[end]) || also.find(rest_[end]) != also.npos)) ++end;
  if (end == 0) fail("unexpected text", rest_.substr(0, 20), "a name");
  std::string result(rest_.substr(0, end));
  take(end);
  return result;
}

int64_t Scanner::number() {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
  if (error != std::errc{} || value < 0 || value > kMostBytes) {
    fail("bad number", rest_.substr(0, 20), fmt::format("0 to {}", kMostBytes));
  }
  take(static_cast<size_t>(end - rest_.data()));
  return value;
}

int Scanner::integer() {
  int value = 0;
  const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
  if (error != std::errc{}) fail("unexpected text", rest_.substr(0, 20), "an integer");
  take(static_cast<size_t>(end - rest_.data()));
  return value;
}

void Scanner::end() const {
  if (!rest_.empty()) fail("unexpected text", rest_.substr(0, 20), "the end of the line");
}

}  // namespace partita
