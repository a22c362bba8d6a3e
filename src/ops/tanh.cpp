#include <cmath>

#include "ops/support.h"

namespace partita {

OpDef tanh_op() {
  OpDef op;
  op.name = "tanh";
  op.summary = "hyperbolic tangent of x";
  op.infer = [](const OpCall& call) {
    require_operands("tanh", call, 1);
    return infer_pointwise_float("tanh", call);
  };
  op.rule = [](const OpCall& call) { return pointwise_rule(call).linear_in({0}, kMaxMin); };
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    const Value square = call.apply("square", {call.outputs[0]});
    const Value slope = call.builder.apply_fields("scale", {square}, {{"scale", "-1"}, {"bias", "1"}});
    return {call.apply("mul", {call.d_outputs[0], slope})};
  };
  op.kernel = [](const Attrs&, Inputs in, Outputs out) {
    unary_float_kernel(in, out, [](auto x) { return std::tanh(x); });
  };
  op.samples = {{{sample_of({4, 6})}}, {{sample_of({5})}}};
  return op;
}

}  // namespace partita
