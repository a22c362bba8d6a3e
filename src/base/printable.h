#pragma once
// Text made safe for a terminal.

#include <string>
#include <string_view>

namespace partita {

/// Returns the text with each byte that is not valid UTF-8, and each control character, replaced by '?'.
std::string printable(std::string_view text);

/// Returns the text as `printable` does, but keeps each '\n'.
std::string printable_lines(std::string_view text);

}  // namespace partita
