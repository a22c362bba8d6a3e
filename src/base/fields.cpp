#include "base/fields.h"

#include <cmath>

#include "base/plain_text.h"

namespace partita {
namespace {

[[noreturn]] void fail(std::string_view text, std::string_view expected) {
  throw InvalidArgument("[attribute] bad value, got {}, expected {}", text, expected);
}

template <class T>
T number(std::string_view text, std::string_view expected) {
  const std::optional<T> value = parse_number<T>(text);
  if (!value) fail(text, expected);
  return *value;
}

}  // namespace

std::string to_text(int64_t value) { return fmt::format("{}", value); }

std::string to_text(double value) { return fmt::format("{}", value); }

std::string to_text(bool value) { return value ? "true" : "false"; }
std::string to_text(const std::string& value) { return '"' + value + '"'; }
std::string to_text(DType value) { return std::string(name_of(value)); }
std::string to_text(std::optional<DType> value) { return value ? to_text(*value) : "none"; }
std::string to_text(Reduce value) { return std::string(name_of(value)); }

void from_text(std::string_view text, int64_t& value) { value = number<int64_t>(text, "an integer"); }
void from_text(std::string_view text, double& value) { value = number<double>(text, "a number"); }

void from_text(std::string_view text, bool& value) {
  if (text != "true" && text != "false") fail(text, "true or false");
  value = text == "true";
}

void from_text(std::string_view text, std::string& value) {
  if (text.size() < 2 || text.front() != '"' || text.back() != '"') fail(text, "a quoted string");
  value = text.substr(1, text.size() - 2);
}

void from_text(std::string_view text, DType& value) {
  const std::optional<DType> dtype = parse_dtype(text);
  if (!dtype) fail(text, "an element type like f32");
  value = *dtype;
}

void from_text(std::string_view text, std::optional<DType>& value) {
  value.reset();
  if (text != "none") from_text(text, value.emplace());
}

void from_text(std::string_view text, Reduce& value) {
  const std::optional<Reduce> reduce = parse_reduce(text);
  if (!reduce) fail(text, "sum, max or min");
  value = *reduce;
}

std::vector<std::string_view> split_list(std::string_view text) {
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') fail(text, "a list in brackets");
  std::vector<std::string_view> items;
  int depth = 0;
  bool quoted = false;
  size_t begin = 1;
  for (size_t i = 1; i + 1 < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (c == '[') ++depth;
    if (c == ']' && --depth < 0) fail(text, "matching brackets");
    if (c == ',' && depth == 0) {
      items.push_back(text.substr(begin, i - begin));
      begin = i + 1;
    }
  }
  if (depth != 0 || quoted) fail(text, "matching brackets and quotes");
  if (text.size() > 2) items.push_back(text.substr(begin, text.size() - 1 - begin));
  return items;
}

}  // namespace partita
