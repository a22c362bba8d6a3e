#pragma once

#include <optional>
#include <string_view>

namespace partita {

inline constexpr int kMaxTomlKeyParts = 16;

/// The line of the first key like "a.b.c" with more parts than that. A parser nests a table for each part and so
/// overflows the stack; it limits only what brackets and braces nest.
std::optional<int> line_of_deep_key(std::string_view text);

}  // namespace partita
