#include "cli/tokenizers/unicode_text.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>

namespace partita {
namespace {

const utf8proc_uint8_t* bytes_of(std::string_view text) {
  return reinterpret_cast<const utf8proc_uint8_t*>(text.data());
}

bool is_ascii(char byte) { return static_cast<uint8_t>(byte) < 0x80; }

bool is_space(int32_t point) {
  return (point >= 0x09 && point <= 0x0d) || point == 0x20 || point == 0x85 || point == 0xa0 || point == 0x1680 ||
         (point >= 0x2000 && point <= 0x200a) || point == 0x2028 || point == 0x2029 || point == 0x202f ||
         point == 0x205f || point == 0x3000;
}

}  // namespace

std::optional<size_t> find_invalid_utf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    if (is_ascii(text[at])) {
      ++at;
      continue;
    }
    utf8proc_int32_t point = 0;
    const utf8proc_ssize_t bytes =
        utf8proc_iterate(bytes_of(text) + at, static_cast<utf8proc_ssize_t>(text.size() - at), &point);
    if (bytes <= 0) return at;
    at += static_cast<size_t>(bytes);
  }
  return std::nullopt;
}

std::string normalized(std::string_view text, UnicodeForm form) {
  if (std::ranges::all_of(text, is_ascii)) return std::string(text);
  int options = UTF8PROC_STABLE;
  options |= form == UnicodeForm::NFC || form == UnicodeForm::NFKC ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE;
  if (form == UnicodeForm::NFKC || form == UnicodeForm::NFKD) options |= UTF8PROC_COMPAT;
  utf8proc_uint8_t* raw = nullptr;
  const utf8proc_ssize_t bytes = utf8proc_map(bytes_of(text), static_cast<utf8proc_ssize_t>(text.size()), &raw,
                                              static_cast<utf8proc_option_t>(options));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> result(raw, &std::free);
  if (bytes < 0) throw std::bad_alloc();  // the only failure of valid UTF-8
  return {reinterpret_cast<const char*>(raw), static_cast<size_t>(bytes)};
}

size_t leading_space(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    utf8proc_int32_t point = 0;
    const utf8proc_ssize_t bytes =
        utf8proc_iterate(bytes_of(text) + at, static_cast<utf8proc_ssize_t>(text.size() - at), &point);
    if (bytes <= 0 || !is_space(point)) break;
    at += static_cast<size_t>(bytes);
  }
  return at;
}

size_t trailing_space(std::string_view text) {
  size_t end = text.size();
  while (end > 0) {
    size_t begin = end - 1;
    while (begin > 0 && (static_cast<uint8_t>(text[begin]) & 0xc0) == 0x80) --begin;
    const std::string_view last = text.substr(begin, end - begin);
    if (leading_space(last) != last.size()) break;
    end = begin;
  }
  return text.size() - end;
}

}  // namespace partita
