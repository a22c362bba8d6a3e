#include <cmath>

#include "ops/support.h"

namespace partita {

OpDef sigmoid_op() {
  OpDef op;
  op.name = "sigmoid";
  op.summary = "1 / (1 + exp(-x))";
  op.infer = [](const OpCall& call) {
    require_operands("sigmoid", call, 1);
    return infer_pointwise_float("sigmoid", call);
  };
  op.rule = [](const OpCall& call) { return pointwise_rule(call).linear_in({0}, kMaxMin); };
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    const Value rest = call.builder.apply_fields("scale", {call.outputs[0]}, {{"scale", "-1"}, {"bias", "1"}});
    return {call.apply("mul", {call.d_outputs[0], call.apply("mul", {call.outputs[0], rest})})};
  };
  op.kernel = [](const Attrs&, Inputs in, Outputs out) {
    unary_float_kernel(in, out, [](auto x) { return 1 / (1 + std::exp(-x)); });
  };
  op.samples = {{{sample_of({4, 6})}}, {{sample_of({5})}}};
  return op;
}

}  // namespace partita
