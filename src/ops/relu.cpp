#include "ops/support.h"

namespace partita {

OpDef relu_op() {
  OpDef op;
  op.name = "relu";
  op.summary = "max(x, 0); NaN stays";
  op.infer = [](const OpCall& call) {
    require_operands("relu", call, 1);
    return infer_pointwise_float("relu", call);
  };
  op.rule = [](const OpCall& call) { return pointwise_rule(call).linear_in({0}, kMaxMin); };
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    return {call.apply("relu_grad", {call.d_outputs[0], call.outputs[0]})};
  };
  op.kernel = [](const Attrs&, Inputs in, Outputs out) {
    unary_float_kernel(in, out, [](auto x) { return x < 0 ? 0 : x; });
  };
  op.samples = {{{sample_of({4, 6}, Fill::distinct)}}, {{sample_of({5})}}};
  return op;
}

}  // namespace partita
