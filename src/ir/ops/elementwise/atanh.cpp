#include "base/special_functions.h"
#include "ir/ops/elementwise/attrs.h"
#include "ir/ops/pointwise.h"

namespace partita {

std::vector<OpDef> atanh_ops() {
  OpDef op = slope_op(
      "atanh", "inverse hyperbolic tangent of x, from -1 to 1", {}, [](auto x) { return atanh_of(x); },
      [](const GradCall& call) {
        const Value rest =
            call.apply("scale", {call.apply("square", {call.inputs[0]})}, ScaleAttrs{.scale = -1, .bias = 1});
        return call.apply("pow", {rest}, PowAttrs{-1});
      },
      Fill::within);
  op.flops_per_point = 20;
  return {op};
}

}  // namespace partita
