#include "base/special_functions.h"
#include "ir/ops/elementwise/attrs.h"
#include "ir/ops/pointwise.h"

namespace partita {

std::vector<OpDef> atan_ops() {
  OpDef op = slope_op(
      "atan", "angle from -pi / 2 to pi / 2 whose tangent is x", kMaxMin, [](auto x) { return atan_of(x); },
      [](const GradCall& call) {
        const Value sum =
            call.apply("scale", {call.apply("square", {call.inputs[0]})}, ScaleAttrs{.scale = 1, .bias = 1});
        return call.apply("pow", {sum}, PowAttrs{-1});
      });
  op.flops_per_point = 20;
  return {op};
}

}  // namespace partita
