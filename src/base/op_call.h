#pragma once
// One use of an op: what its inference, rule and kernels look at.

#include <vector>

#include "base/attrs.h"
#include "base/shape.h"

namespace partita {

/// `outputs` is empty while they are being inferred.
struct OpCall {
  const Attrs& attrs;
  const std::vector<Type>& inputs;
  const std::vector<Type>& outputs;
};

}  // namespace partita
