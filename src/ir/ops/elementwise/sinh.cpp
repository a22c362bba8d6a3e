#include "base/special_functions.h"
#include "ir/ops/pointwise.h"

namespace partita {

std::vector<OpDef> sinh_ops() {
  OpDef op = slope_op(
      "sinh", "hyperbolic sine of x", kMaxMin, [](auto x) { return sinh_of(x); },
      [](const GradCall& call) { return call.apply("cosh", {call.inputs[0]}); });
  op.flops_per_point = 20;
  return {op};
}

}  // namespace partita
