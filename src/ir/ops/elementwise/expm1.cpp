#include "base/special_functions.h"
#include "ir/ops/pointwise.h"

namespace partita {

std::vector<OpDef> expm1_ops() {
  OpDef op = slope_op(
      "expm1", "e to the power x, minus 1", kMaxMin, [](auto x) { return expm1_of(x); },
      [](const GradCall& call) { return call.apply("exp", {call.inputs[0]}); });
  op.flops_per_point = 20;
  return {op};
}

}  // namespace partita
