#pragma once
// UTF-8 and Unicode normalization forms (Unicode Standard Annex 15).

#include <optional>
#include <string>
#include <string_view>

#include "base/names.h"

namespace partita {

enum class UnicodeForm { NFC, NFD, NFKC, NFKD };
constexpr auto value_names(UnicodeForm) { return names("NFC", "NFD", "NFKC", "NFKD"); }

/// Returns the offset of the first byte that is not part of valid UTF-8; nothing if there is none.
std::optional<size_t> find_invalid_utf8(std::string_view text);

/// Returns a text, which is valid UTF-8, in a normalization form.
std::string normalized(std::string_view text, UnicodeForm form);

/// Returns the number of bytes of the white space at the start of a text (the property White_Space of Unicode).
size_t leading_space(std::string_view text);
/// Returns the number of bytes of the white space at the end of a text.
size_t trailing_space(std::string_view text);

}  // namespace partita
