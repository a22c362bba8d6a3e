#include "base/special_functions.h"
#include "ir/ops/elementwise/attrs.h"
#include "ir/ops/pointwise.h"

namespace partita {

std::vector<OpDef> acosh_ops() {
  OpDef op = slope_op(
      "acosh", "inverse hyperbolic cosine of x, which is at least 1", ReduceSet{.min = true},
      [](auto x) { return acosh_of(x); },
      [](const GradCall& call) {
        const Value below = call.apply("scale", {call.inputs[0]}, ScaleAttrs{.scale = 1, .bias = -1});
        const Value above = call.apply("scale", {call.inputs[0]}, ScaleAttrs{.scale = 1, .bias = 1});
        return call.apply("mul", {call.apply("rsqrt", {below}), call.apply("rsqrt", {above})});  // NaN below 1
      },
      Fill::above_one);
  op.flops_per_point = 20;
  return {op};
}

}  // namespace partita
