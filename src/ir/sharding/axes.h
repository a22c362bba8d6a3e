#pragma once
// Set and list operations on sub-axes.

#include <algorithm>

#include "ir/sharding/mesh.h"

namespace partita {

inline bool contains(const Axes& axes, int axis) { return std::ranges::find(axes, axis) != axes.end(); }

/// Whether the two lists share an axis.
inline bool any_of(const Axes& axes, const Axes& others) {
  return std::ranges::any_of(axes, [&](int axis) { return contains(others, axis); });
}

/// Returns the axes that are not in `taken`, in their order.
inline Axes without(const Axes& axes, const Axes& taken) {
  Axes rest;
  for (int axis : axes) {
    if (!contains(taken, axis)) rest.push_back(axis);
  }
  return rest;
}

/// Returns all subsequences of `axes` except the empty one.
inline std::vector<Axes> subsequences(const Axes& axes) {
  std::vector<Axes> lists{{}};
  for (int axis : axes) {
    for (size_t i = 0, count = lists.size(); i < count; ++i) {
      lists.push_back(lists[i]);
      lists.back().push_back(axis);
    }
  }
  lists.erase(lists.begin());
  return lists;
}

inline void append(Axes& axes, const Axes& more) { axes.insert(axes.end(), more.begin(), more.end()); }

}  // namespace partita
