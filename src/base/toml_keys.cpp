#include "base/toml_keys.h"

#include <algorithm>

namespace partita {
namespace {

/// Returns the position after the string or comment that begins at `at`: that of the line break for a comment or a
/// string that its line does not close, the end of the text if nothing closes it.
size_t end_of_token(std::string_view text, size_t at) {
  const char quote = text[at];
  if (quote == '#') return std::min(text.find('\n', at), text.size());
  const std::string_view three = quote == '"' ? R"(""")" : "'''";
  const bool has_lines = text.substr(at, 3) == three;
  const auto ends = [&](size_t i) {
    return has_lines ? text.substr(i, 3) == three : text[i] == quote || text[i] == '\n';
  };
  size_t i = at + (has_lines ? 3 : 1);
  while (i < text.size() && !ends(i)) i += quote == '"' && text[i] == '\\' ? 2 : 1;
  if (i >= text.size()) return text.size();
  if (!has_lines) return text[i] == '\n' ? i : i + 1;
  // Up to two quotation marks before the closing three belong to the string.
  i += 3;
  for (int more = 0; more < 2 && i < text.size() && text[i] == quote; ++more) ++i;
  return i;
}

}  // namespace

std::optional<int> line_of_deep_key(std::string_view text) {
  constexpr std::string_view kEndsOfKeys = "=,[]{}\n";
  int line = 1, parts = 1;
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '"' || c == '\'' || c == '#') {
      const size_t end = end_of_token(text, i);
      line += static_cast<int>(std::count(text.begin() + static_cast<std::ptrdiff_t>(i),
                                          text.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
      i = end;
      continue;
    }
    if (c == '.' && ++parts > kMaxTomlKeyParts) return line;
    if (kEndsOfKeys.find(c) != kEndsOfKeys.npos) parts = 1;
    if (c == '\n') ++line;
    ++i;
  }
  return std::nullopt;
}

}  // namespace partita
