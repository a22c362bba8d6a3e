#pragma once
// How the states of an optimizer are cut.

#include <vector>

#include "base/shape.h"
#include "ir/sharding/mesh.h"

namespace partita {

/// Returns the axes that cut a state of an optimizer like its parameter, whose axes are `dims`: those of the dimensions
/// that have the same size in both, because a state may hold one number per row. The shapes have as many dimensions.
inline std::vector<Axes> dims_like_parameter(std::vector<Axes> dims, const Shape& parameter, const Shape& state) {
  for (size_t d = 0; d < dims.size(); ++d) {
    if (state[d] != parameter[d]) dims[d].clear();
  }
  return dims;
}

}  // namespace partita
