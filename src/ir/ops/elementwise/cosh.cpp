#include "base/special_functions.h"
#include "ir/ops/pointwise.h"

namespace partita {

std::vector<OpDef> cosh_ops() {
  OpDef op = slope_op(
      "cosh", "hyperbolic cosine of x", {}, [](auto x) { return cosh_of(x); },
      [](const GradCall& call) { return call.apply("sinh", {call.inputs[0]}); });
  op.flops_per_point = 20;
  return {op};
}

}  // namespace partita
