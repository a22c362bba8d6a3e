#pragma once
// Text made safe for a terminal.

#include <string>
#include <string_view>

namespace partita {

/// Returns the text with each byte that is not valid UTF-8, and each control character, replaced by '?'.
std::string printable(std::string_view text);

/// Like `printable`, but keeps line breaks.
std::string printable_lines(std::string_view text);

}  // namespace partita
