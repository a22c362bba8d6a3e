#pragma once
// Sub-axes as sets and as lists.

#include <algorithm>

#include "ir/sharding/mesh.h"

namespace partita {

inline bool contains(const Axes& axes, int axis) { return std::find(axes.begin(), axes.end(), axis) != axes.end(); }

inline bool any_of(const Axes& axes, const Axes& others) {
  return std::any_of(axes.begin(), axes.end(), [&](int axis) { return contains(others, axis); });
}

inline Axes without(const Axes& axes, const Axes& taken) {
  Axes rest;
  for (int axis : axes) {
    if (!contains(taken, axis)) rest.push_back(axis);
  }
  return rest;
}

inline void append(Axes& axes, const Axes& more) { axes.insert(axes.end(), more.begin(), more.end()); }

}  // namespace partita
