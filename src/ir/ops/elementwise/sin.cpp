#include "base/special_functions.h"
#include "ir/ops/pointwise.h"

namespace partita {

std::vector<OpDef> sin_ops() {
  OpDef op = slope_op(
      "sin", "sine of x, in radians", {}, [](auto x) { return sin_of(x); },
      [](const GradCall& call) { return call.apply("cos", {call.inputs[0]}); });
  op.flops_per_point = 20;
  return {op};
}

}  // namespace partita
