#include <numbers>

#include "base/special_functions.h"
#include "ir/ops/elementwise/attrs.h"
#include "ir/ops/pointwise.h"

namespace partita {

std::vector<OpDef> erfc_ops() {
  OpDef op = slope_op(
      "erfc", "1 minus the error function of x", {}, [](auto x) { return erfc_of(x); },
      [](const GradCall& call) {
        const Value bell = call.apply("exp", {call.apply("neg", {call.apply("square", {call.inputs[0]})})});
        return call.apply("scale", {bell}, ScaleAttrs{.scale = -2 * std::numbers::inv_sqrtpi});
      });
  op.flops_per_point = 20;
  return {op};
}

}  // namespace partita
