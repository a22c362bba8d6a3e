#pragma once
// Types and uses of ops without a graph, for the tests of this folder.

#include <vector>

#include "base/op_call.h"

namespace partita {

inline Type f64(Shape shape) { return {DType::f64, std::move(shape)}; }

struct TestCall {
  Attrs attrs;
  std::vector<Type> inputs, outputs;
  OpCall call() const { return {attrs, inputs, outputs}; }
};

}  // namespace partita
