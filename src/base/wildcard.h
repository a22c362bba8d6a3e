#pragma once

#include <string_view>

namespace partita {

/// Whether all of `text` matches `pattern`, in which '*' stands for any sequence of characters, also none. Takes time
/// proportional to the product of both lengths.
bool matches_wildcard(std::string_view pattern, std::string_view text);

}  // namespace partita
