#include "runtime/checkpoint/utf32.h"

#include <cstdint>
#include <cstring>

namespace partita {
namespace {

constexpr uint32_t kLastCode = 0x10ffff, kFirstSurrogate = 0xd800, kLastSurrogate = 0xdfff;

bool is_code(uint32_t code) { return code <= kLastCode && (code < kFirstSurrogate || code > kLastSurrogate); }

/// Removes the first character of `text` and returns its code; none if it is not one of UTF-8, of the shortest form.
std::optional<uint32_t> take_code(std::string_view& text) {
  const auto first = static_cast<unsigned char>(text.front());
  const size_t more = first < 0x80 ? 0 : first >> 5 == 0x6 ? 1 : first >> 4 == 0xe ? 2 : first >> 3 == 0x1e ? 3 : 4;
  if (more == 4 || more >= text.size()) return std::nullopt;
  constexpr uint32_t kMinCode[] = {0, 0x80, 0x800, 0x10000}, kBits[] = {0x7f, 0x1f, 0xf, 0x7};
  uint32_t code = first & kBits[more];
  for (size_t i = 1; i <= more; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if (next >> 6 != 2) return std::nullopt;
    code = code << 6 | (next & 0x3f);
  }
  if (code < kMinCode[more] || !is_code(code)) return std::nullopt;
  text.remove_prefix(more + 1);
  return code;
}

void append_utf8(std::string& text, uint32_t code) {
  const auto put = [&](uint32_t byte) { text.push_back(static_cast<char>(byte)); };
  const int more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  constexpr uint32_t kLead[] = {0, 0xc0, 0xe0, 0xf0};
  put(kLead[more] | code >> (6 * more));
  for (int i = more - 1; i >= 0; --i) put(0x80 | (code >> (6 * i) & 0x3f));
}

}  // namespace

std::optional<std::string> utf32_of(std::string_view text) {
  std::string utf32;
  while (!text.empty()) {
    const std::optional<uint32_t> code = take_code(text);
    if (!code) return std::nullopt;
    for (int i = 0; i < 4; ++i) utf32.push_back(static_cast<char>(*code >> (8 * i)));
  }
  return utf32;
}

std::optional<std::string> utf8_of(std::string_view utf32) {
  if (utf32.size() % 4 != 0) return std::nullopt;
  std::string text;
  size_t length = 0;  // up to the last character that is not 0
  for (size_t at = 0; at < utf32.size(); at += 4) {
    uint32_t code = 0;
    std::memcpy(&code, utf32.data() + at, sizeof code);
    if (!is_code(code)) return std::nullopt;
    append_utf8(text, code);
    if (code != 0) length = text.size();
  }
  text.resize(length);
  return text;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    if (!take_code(text)) return false;
  }
  return true;
}

}  // namespace partita
