#pragma once
// One use of an op, as seen by its shape inference, sharding rule and kernels.

#include <vector>

#include "base/attrs.h"
#include "base/shape.h"

namespace partita {

/// References into the caller's data. `outputs` is empty during shape inference.
struct OpCall {
  const Attrs& attrs;
  const std::vector<Type>& inputs;
  const std::vector<Type>& outputs;
};

}  // namespace partita
