#pragma once

#include <string>
#include <string_view>

namespace partita {

/// Returns `text` as a basic string of TOML, in quotes and with escapes.
std::string toml_string(std::string_view text);

}  // namespace partita
