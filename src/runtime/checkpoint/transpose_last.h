#pragma once
// Exchanges the last two dimensions of dense arrays, as programs differ in how weights of products lie.

#include <algorithm>
#include <utility>

#include "base/shape.h"

namespace partita {

/// Exchanges the last two of several items, such as the sizes of a shape.
template <class Items>
Items exchanged(Items items) {
  if (items.size() >= 2) std::swap(items[items.size() - 1], items[items.size() - 2]);
  return items;
}

/// Copies dense elements of `size` bytes from [.., a, b], of this shape, to [.., b, a].
void transpose_last(const void* from, void* to, const Shape& shape, size_t size);

}  // namespace partita
