#pragma once
// Text for a terminal.

#include <string>
#include <string_view>

namespace partita {

/// Replaces each byte that is not UTF-8, and each control character, by '?'.
std::string printable(std::string_view text);

/// Like `printable`, but keeps line breaks.
std::string printable_lines(std::string_view text);

}  // namespace partita
