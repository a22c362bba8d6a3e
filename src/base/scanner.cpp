#include "base/scanner.h"

#include <algorithm>

namespace partita {
namespace {

constexpr size_t kMaxText = size_t{64} << 20;

}  // namespace

Scanner::Scanner(std::string what, std::string_view text, std::string_view otherwise, std::string_view version,
                 std::string file)
    : Cursor(""), what_(std::move(what)), file_(std::move(file)), text_(text) {
  if (text.size() > kMaxText) fail("text too large", fmt::format("{} bytes", text.size()), "at most 64 MiB");
  const std::string name = fmt::format("partita {} ", what_), header = name + "1";
  next_line();
  line_ = 1;
  if (rest() == header) return;
  const std::string_view wrong = rest().starts_with(name) ? version : otherwise;
  fail(wrong, rest().substr(0, 40), fmt::format("'{}'", header));
}

bool Scanner::next() {
  while (next_line()) {
    if (!rest().empty() && rest().front() != '#') return true;
  }
  return false;
}

bool Scanner::next_line() {
  if (text_.empty()) return false;
  const size_t end = std::min(text_.find('\n'), text_.size());
  std::string_view line = text_.substr(0, end);
  text_.remove_prefix(std::min(end + 1, text_.size()));
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
  set_rest(line);
  ++line_;
  return true;
}

std::string Scanner::place() const {
  return file_.empty() ? fmt::format("{} line {}", what_, line_) : fmt::format("{}:{}", file_, line_);
}

std::string Scanner::message(std::string_view what, std::string_view got, std::string_view expected) const {
  return fmt::format("[{}] {}, got '{}', expected {}", place(), what, got, expected);
}

void Scanner::once(bool& seen, std::string_view name) const {
  if (seen) fail("given twice", name, "it once");
  seen = true;
}

void Scanner::go_to(int line, std::string_view rest) {
  line_ = line;
  set_rest(rest);
}

}  // namespace partita
