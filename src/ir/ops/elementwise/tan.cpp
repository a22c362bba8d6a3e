#include "base/special_functions.h"
#include "ir/ops/elementwise/attrs.h"
#include "ir/ops/pointwise.h"

namespace partita {

std::vector<OpDef> tan_ops() {
  OpDef op = slope_op(
      "tan", "tangent of x, in radians", {}, [](auto x) { return tan_of(x); },
      [](const GradCall& call) {
        return call.apply("scale", {call.apply("square", {call.outputs[0]})}, ScaleAttrs{.scale = 1, .bias = 1});
      });
  op.flops_per_point = 20;
  return {op};
}

}  // namespace partita
