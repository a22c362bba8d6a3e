#include "base/special_functions.h"
#include "ir/ops/elementwise/attrs.h"
#include "ir/ops/pointwise.h"

namespace partita {

std::vector<OpDef> asinh_ops() {
  OpDef op = slope_op(
      "asinh", "inverse hyperbolic sine of x", kMaxMin, [](auto x) { return asinh_of(x); },
      [](const GradCall& call) {
        const Value sum =
            call.apply("scale", {call.apply("square", {call.inputs[0]})}, ScaleAttrs{.scale = 1, .bias = 1});
        return call.apply("rsqrt", {sum});
      });
  op.flops_per_point = 20;
  return {op};
}

}  // namespace partita
