#pragma once
// Limits of shapes that come from attributes.

#include <limits>

#include "ops/support.h"

namespace partita {

/// The most elements of a tensor: its bytes and its strides stay far from overflow.
inline constexpr int64_t kMaxElements = std::numeric_limits<int64_t>::max() / 16;

/// Throws when a size is negative or the elements cannot be counted.
inline void require_shape(std::string_view op, const Shape& shape) {
  int64_t total = 1;
  for (int64_t size : shape) {
    if (size < 0) reject(op, "negative size", print(shape), "sizes of at least 0");
    if (size > 0 && total > kMaxElements / size) reject(op, "shape too large", print(shape), "fewer elements");
    total *= size > 0 ? size : 1;
  }
}

/// Whether a part of this shape, from `begin` on, lies in `whole`; both lists are empty for the whole.
inline bool lies_in(const Shape& part, const std::vector<int64_t>& whole, const std::vector<int64_t>& begin) {
  if (whole.empty() && begin.empty()) return true;
  if (whole.size() != part.size() || begin.size() != part.size()) return false;
  for (size_t d = 0; d < part.size(); ++d) {
    if (part[d] > whole[d] || begin[d] < 0 || begin[d] > whole[d] - part[d]) return false;
  }
  return true;
}

}  // namespace partita
