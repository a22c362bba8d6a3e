#pragma once

#include <string_view>

namespace partita {

/// Returns the version of the library as CMakeLists.txt states it: "0.2.0".
std::string_view version();

}  // namespace partita
