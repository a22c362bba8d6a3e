#pragma once
// Boxes of dense row-major arrays, and the contiguous runs that two arrays share.

#include <algorithm>
#include <array>
#include <optional>

#include "base/error.h"
#include "base/shape.h"
#include "ir/sharding/rule.h"

namespace partita {

/// Returns the box that covers the whole array.
inline Box whole_box(const Shape& shape) {
  Box box;
  for (const int64_t size : shape) box.push_back({0, size, size});
  return box;
}

/// Returns the number of elements of a box.
inline int64_t elements_of(const Box& box) {
  int64_t count = 1;
  for (const Range& range : box) count *= range.count();
  return count;
}

/// Returns the shape that a box has as a separate array.
inline Shape shape_of(const Box& box) {
  Shape shape;
  for (const Range& range : box) shape.push_back(range.count());
  return shape;
}

/// Returns the intersection of two boxes of one array, or nothing if they share no element.
inline std::optional<Box> common_box(const Box& a, const Box& b) {
  Box common = a;
  for (size_t d = 0; d < a.size(); ++d) {
    common[d].begin = std::max(a[d].begin, b[d].begin);
    common[d].end = std::min(a[d].end, b[d].end);
    if (common[d].count() <= 0) return std::nullopt;
  }
  return common;
}

/// Calls fn(first, other first, elements) for the runs of `part` that are contiguous in the arrays of the boxes `a` and
/// `b`, both of which contain it. `first` is the index of the run's first element in the array of `a`, `other first`
/// that in `b`. Runs come in row-major order and are as long as possible.
template <class Fn>
void for_common_runs(const Box& part, const Box& a, const Box& b, Fn&& fn) {
  if (elements_of(part) == 0) return;
  if (part.empty()) return fn(0, 0, 1);
  PARTITA_CHECK(part.size() <= kMaxDims, "{} dimensions", part.size());
  int last = static_cast<int>(part.size()) - 1;  // later dimensions are whole in all three
  int64_t run = 1;
  const auto alike = [](const Range& one, const Range& other) {
    return one.begin == other.begin && one.end == other.end;
  };
  while (last >= 0 && alike(part[static_cast<size_t>(last)], a[static_cast<size_t>(last)]) &&
         alike(part[static_cast<size_t>(last)], b[static_cast<size_t>(last)])) {
    run *= part[static_cast<size_t>(last--)].count();
  }
  int64_t first = 0, other = 0;
  std::array<int64_t, kMaxDims> step_a, step_b;  // elements between neighbours
  for (int64_t d = static_cast<int64_t>(part.size()) - 1, size_a = 1, size_b = 1; d >= 0; --d) {
    const auto i = static_cast<size_t>(d);
    step_a[i] = size_a;
    step_b[i] = size_b;
    first += (part[i].begin - a[i].begin) * size_a;
    other += (part[i].begin - b[i].begin) * size_b;
    size_a *= a[i].count();
    size_b *= b[i].count();
  }
  if (last >= 0) run *= part[static_cast<size_t>(last)].count();
  // Runs along one dimension have a separate loop, since tensors have many short ones.
  const int along = last - 1;
  const auto inner = static_cast<size_t>(std::max(along, 0));
  const int64_t runs = along < 0 ? 1 : part[inner].count();
  std::array<int64_t, kMaxDims> index;  // position in the dimensions before `along`
  std::fill_n(index.begin(), inner, int64_t{0});
  while (true) {
    for (int64_t i = 0; i < runs; ++i) fn(first + i * step_a[inner], other + i * step_b[inner], run);
    int d = along - 1;
    for (; d >= 0; --d) {
      const auto i = static_cast<size_t>(d);
      first += step_a[i];
      other += step_b[i];
      if (++index[i] < part[i].count()) break;
      first -= index[i] * step_a[i];
      other -= index[i] * step_b[i];
      index[i] = 0;
    }
    if (d < 0) return;
  }
}

}  // namespace partita
