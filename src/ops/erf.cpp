#include <cmath>
#include <numbers>

#include "ops/support.h"

namespace partita {

OpDef erf_op() {
  OpDef op;
  op.name = "erf";
  op.summary = "2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x";
  op.infer = [](const OpCall& call) {
    require_operands("erf", call, 1);
    return infer_pointwise_float("erf", call);
  };
  op.rule = [](const OpCall& call) { return pointwise_rule(call).linear_in({0}, kMaxMin); };
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    const Value bell = call.apply("exp", {call.apply("neg", {call.apply("square", {call.inputs[0]})})});
    const Value slope = call.builder.apply_fields("scale", {bell}, {{"scale", to_text(2 * std::numbers::inv_sqrtpi)}});
    return {call.apply("mul", {call.d_outputs[0], slope})};
  };
  op.flops_per_point = 20;
  op.kernel = [](const Attrs&, Inputs in, Outputs out) {
    unary_float_kernel(in, out, [](auto x) { return std::erf(x); });
  };
  op.samples = {{{sample_of({4, 6})}}, {{sample_of({5})}}};
  return op;
}

}  // namespace partita
