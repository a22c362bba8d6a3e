#pragma once

#include <string_view>

namespace partita {

/// Whether `text` is `pattern`, in which '*' stands for any letters. Takes as long as both lengths multiplied.
bool matches_wildcard(std::string_view pattern, std::string_view text);

}  // namespace partita
