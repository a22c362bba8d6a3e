#include "ops/support.h"

namespace partita {

OpDef square_op() {
  OpDef op;
  op.name = "square";
  op.summary = "x * x";
  op.infer = [](const OpCall& call) {
    require_operands("square", call, 1);
    return infer_pointwise_float("square", call);
  };
  op.rule = [](const OpCall& call) { return pointwise_rule(call); };
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    const Value twice = call.builder.apply_fields("scale", {call.inputs[0]}, {{"scale", "2"}});
    return {call.apply("mul", {call.d_outputs[0], twice})};
  };
  op.kernel = [](const Attrs&, Inputs in, Outputs out) { unary_float_kernel(in, out, [](auto x) { return x * x; }); };
  op.samples = {{{sample_of({4, 6})}}, {{sample_of({5})}}};
  return op;
}

}  // namespace partita
