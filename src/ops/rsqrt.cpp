#include <cmath>

#include "ops/support.h"

namespace partita {

OpDef rsqrt_op() {
  OpDef op;
  op.name = "rsqrt";
  op.summary = "1 / square root of x";
  op.infer = [](const OpCall& call) {
    require_operands("rsqrt", call, 1);
    return infer_pointwise_float("rsqrt", call);
  };
  op.rule = [](const OpCall& call) { return pointwise_rule(call); };
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    // d = -y^3 / 2
    const Value cube = call.apply("mul", {call.outputs[0], call.apply("square", {call.outputs[0]})});
    const Value slope = call.builder.apply_fields("scale", {cube}, {{"scale", "-0.5"}});
    return {call.apply("mul", {call.d_outputs[0], slope})};
  };
  op.kernel = [](const Attrs&, Inputs in, Outputs out) {
    unary_float_kernel(in, out, [](auto x) { return 1 / std::sqrt(x); });
  };
  op.samples = {{{sample_of({4, 6}, Fill::positive)}}, {{sample_of({5}, Fill::positive)}}};
  return op;
}

}  // namespace partita
