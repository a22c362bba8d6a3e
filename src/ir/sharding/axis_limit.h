#pragma once

#include <cstddef>

namespace partita {

/// Of a mesh and of a layout. Only twenty of them can have more than one rank.
inline constexpr size_t kMaxNamedAxes = 64;

}  // namespace partita
