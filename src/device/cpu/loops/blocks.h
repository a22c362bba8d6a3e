#pragma once
// Layouts with blocks of channels innermost: [n, ceil(c / lanes), h, w, lanes].

#include "schedule/kernel_catalog.h"

namespace partita {

inline constexpr int64_t kMostLanes = 16;

/// 16 for "aBcd16b", 8 for "aBcd8b", of a 4-D f32 tensor; 0 for other layouts.
inline int64_t lanes_of(const Type& type, const Layout& layout) {
  if (type.rank() != 4 || type.dtype != DType::f32) return 0;
  return layout.tag == "aBcd16b" ? 16 : layout.tag == "aBcd8b" ? 8 : 0;
}

}  // namespace partita
