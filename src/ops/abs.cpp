#include <cmath>

#include "ops/support.h"

namespace partita {

OpDef abs_op() {
  OpDef op;
  op.name = "abs";
  op.summary = "magnitude of x; the gradient at 0 is 0";
  op.infer = [](const OpCall& call) {
    require_operands("abs", call, 1);
    return infer_pointwise_float("abs", call);
  };
  op.rule = [](const OpCall& call) { return pointwise_rule(call); };
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    return {call.apply("mul", {call.d_outputs[0], call.apply("sign", {call.inputs[0]})})};
  };
  op.kernel = [](const Attrs&, Inputs in, Outputs out) {
    unary_float_kernel(in, out, [](auto x) { return std::abs(x); });
  };
  op.samples = {{{sample_of({4, 6}, Fill::distinct)}}, {{sample_of({5}, Fill::distinct)}}};
  return op;
}

}  // namespace partita
