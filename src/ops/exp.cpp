#include <cmath>

#include "ops/support.h"

namespace partita {

OpDef exp_op() {
  OpDef op;
  op.name = "exp";
  op.summary = "e to the power x";
  op.infer = [](const OpCall& call) {
    require_operands("exp", call, 1);
    return infer_pointwise_float("exp", call);
  };
  op.rule = [](const OpCall& call) { return pointwise_rule(call).linear_in({0}, kMaxMin); };
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    return {call.apply("mul", {call.d_outputs[0], call.outputs[0]})};
  };
  op.kernel = [](const Attrs&, Inputs in, Outputs out) {
    unary_float_kernel(in, out, [](auto x) { return std::exp(x); });
  };
  op.samples = {{{sample_of({4, 6})}}, {{sample_of({5})}}};
  return op;
}

}  // namespace partita
