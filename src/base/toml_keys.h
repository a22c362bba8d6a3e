#pragma once

#include <optional>
#include <string_view>

namespace partita {

/// Maximum number of parts of a dotted key.
inline constexpr int kMaxTomlKeyParts = 16;

/// Returns the line, from 1, of the first key such as "a.b.c" with more than kMaxTomlKeyParts parts, or nothing if no
/// key has. A parser nests a table per part, so a long key overflows the stack: its own limit covers only brackets and
/// braces.
std::optional<int> line_of_deep_key(std::string_view text);

}  // namespace partita
