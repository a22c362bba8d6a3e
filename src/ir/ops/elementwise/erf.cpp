#include <numbers>

#include "ir/ops/elementwise/attrs.h"
#include "ir/ops/pointwise.h"

namespace partita {

std::vector<OpDef> erf_ops() {
  OpDef op = slope_op(
      "erf", "2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x", kMaxMin, [](auto x) { return erf_of(x); },
      [](const GradCall& call) {
        const Value bell = call.apply("exp", {call.apply("neg", {call.apply("square", {call.inputs[0]})})});
        return call.apply("scale", {bell}, ScaleAttrs{.scale = 2 * std::numbers::inv_sqrtpi});
      });
  op.flops_per_point = 20;
  return {op};
}

}  // namespace partita
