#include "base/printable.h"

#include <algorithm>

namespace partita {
namespace {

/// Returns the length in bytes of the UTF-8 character at the start of `text`, or 0 if it is invalid or a control
/// character.
size_t printable_length(std::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto continues = [&](size_t i) { return (byte(i) & 0xc0u) == 0x80u; };
  const unsigned first = byte(0), second = byte(1);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  if (!continues(1)) return 0;
  if (first >= 0xc2 && first <= 0xdf) return first == 0xc2 && second < 0xa0 ? 0 : 2;
  if (!continues(2)) return 0;
  if (first == 0xe0 && second < 0xa0) return 0;   // overlong encoding
  if (first == 0xed && second >= 0xa0) return 0;  // UTF-16 surrogate
  if ((first & 0xf0u) == 0xe0) return 3;
  if (!continues(3) || first < 0xf0 || first > 0xf4) return 0;
  return (first == 0xf0 && second < 0x90) || (first == 0xf4 && second >= 0x90) ? 0 : 4;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const size_t length = printable_length(text);
    shown += length > 0 ? text.substr(0, length) : "?";
    text.remove_prefix(std::max<size_t>(1, length));
  }
  return shown;
}

std::string printable_lines(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    shown += printable(line) + (line.size() < text.size() ? "\n" : "");
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return shown;
}

}  // namespace partita
