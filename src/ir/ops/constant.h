#pragma once
// Constants in graphs that ops, networks and autodiff build.

#include "ir/graph/builder.h"
#include "ir/ops/shape/attrs.h"

namespace partita {

/// Adds a `constant` node and returns its result, every element of which is `value`. Throws InvalidArgument if the
/// element type cannot hold it or the shape is not legal.
inline Value constant(Builder& builder, double value, const Type& type) {
  return builder.apply("constant", {}, ConstantAttrs{.value = value, .dtype = type.dtype, .shape = type.shape});
}

}  // namespace partita
