#pragma once
// Texts in UTF-32, little endian, as NumPy keeps them.

#include <optional>
#include <string>
#include <string_view>

namespace partita {

/// Returns the text in UTF-32; none if `text` is not UTF-8.
std::optional<std::string> utf32_of(std::string_view text);

/// Returns a text in UTF-32 as UTF-8, without the zeros at its end; none if the bytes are not UTF-32.
std::optional<std::string> utf8_of(std::string_view utf32);

/// Whether the bytes are UTF-8.
bool is_utf8(std::string_view text);

}  // namespace partita
