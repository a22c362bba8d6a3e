#pragma once
// Constants in graphs that ops, networks and autodiff build.

#include "ir/graph/builder.h"
#include "ir/ops/shape/attrs.h"

namespace partita {

/// Adds a `constant` node: every element is `value`. Throws InvalidArgument if the type cannot hold it.
inline Value constant(Builder& builder, double value, const Type& type) {
  return builder.apply("constant", {}, ConstantAttrs{.value = value, .dtype = type.dtype, .shape = type.shape});
}

}  // namespace partita
