#include "base/special_functions.h"
#include "ir/ops/elementwise/attrs.h"
#include "ir/ops/pointwise.h"

namespace partita {

std::vector<OpDef> asin_ops() {
  OpDef op = slope_op(
      "asin", "angle from -pi / 2 to pi / 2 whose sine is x", {}, [](auto x) { return asin_of(x); },
      [](const GradCall& call) {
        const Value rest =
            call.apply("scale", {call.apply("square", {call.inputs[0]})}, ScaleAttrs{.scale = -1, .bias = 1});
        return call.apply("rsqrt", {rest});
      },
      Fill::within);
  op.flops_per_point = 20;
  return {op};
}

}  // namespace partita
