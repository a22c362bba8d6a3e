#include "base/special_functions.h"
#include "ir/ops/pointwise.h"

namespace partita {

std::vector<OpDef> cos_ops() {
  OpDef op = slope_op(
      "cos", "cosine of x, in radians", {}, [](auto x) { return cos_of(x); },
      [](const GradCall& call) { return call.apply("neg", {call.apply("sin", {call.inputs[0]})}); });
  op.flops_per_point = 20;
  return {op};
}

}  // namespace partita
