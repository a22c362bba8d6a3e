#include <numbers>

#include "ir/ops/elementwise/attrs.h"
#include "ir/ops/pointwise.h"

namespace partita {

std::vector<OpDef> erf_ops() {
  OpDef op =
      pointwise_op("erf", "2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x", [](auto x) { return erf_of(x); });
  op.rule = [](const OpCall& call) { return pointwise_rule(call).linear_in({0}, kMaxMin); };
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    const Value bell = call.apply("exp", {call.apply("neg", {call.apply("square", {call.inputs[0]})})});
    const Value slope = call.apply("scale", {bell}, ScaleAttrs{.scale = 2 * std::numbers::inv_sqrtpi});
    return {call.apply("mul", {call.d_outputs[0], slope})};
  };
  op.flops_per_point = 20;
  op.samples = {{{sample_of({4, 6})}}, {{sample_of({5})}}};
  return {op};
}

}  // namespace partita
