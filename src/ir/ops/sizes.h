#pragma once
// Limits of shapes that come from attributes.

#include "ir/ops/support.h"

namespace partita {

/// Checks that no size is negative and that the elements are few enough to count. Throws InvalidArgument otherwise.
inline void require_shape(std::string_view op, const Shape& shape) {
  for (int64_t size : shape) {
    if (size < 0) reject(op, "negative size", print(shape), "sizes of at least 0");
  }
  if (!is_countable(shape)) reject(op, "shape too large", print(shape), "fewer elements");
}

/// Whether a part of `size` elements, starting at `begin`, lies in a dimension of `total`.
inline bool lies_in(int64_t size, int64_t total, int64_t begin) {
  return size >= 0 && size <= total && begin >= 0 && begin <= total - size;
}

/// Whether a part of this shape, starting at `begin`, lies in `whole`. Both lists are empty if the part is the whole.
inline bool lies_in(const Shape& part, const std::vector<int64_t>& whole, const std::vector<int64_t>& begin) {
  if (whole.empty() && begin.empty()) return true;
  if (whole.size() != part.size() || begin.size() != part.size()) return false;
  for (size_t d = 0; d < part.size(); ++d) {
    if (!lies_in(part[d], whole[d], begin[d])) return false;
  }
  return true;
}

}  // namespace partita
