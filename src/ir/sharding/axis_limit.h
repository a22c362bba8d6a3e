#pragma once

#include <cstddef>

namespace partita {

/// Maximum number of named axes of a mesh or a layout. Only 20 of them can have more than one rank.
inline constexpr size_t kMaxNamedAxes = 64;

}  // namespace partita
