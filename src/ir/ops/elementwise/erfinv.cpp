#include <numbers>

#include "base/special_functions.h"
#include "ir/ops/elementwise/attrs.h"
#include "ir/ops/pointwise.h"

namespace partita {

std::vector<OpDef> erfinv_ops() {
  OpDef op = slope_op(
      "erfinv", "number whose error function is x, from -1 to 1", {}, [](auto x) { return erfinv_of(x); },
      [](const GradCall& call) {
        const Value bell = call.apply("exp", {call.apply("square", {call.outputs[0]})});
        return call.apply("scale", {bell}, ScaleAttrs{.scale = 0.5 / std::numbers::inv_sqrtpi});
      },
      Fill::within);
  op.flops_per_point = 100;
  return {op};
}

}  // namespace partita
