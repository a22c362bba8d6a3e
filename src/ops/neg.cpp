#include "ops/support.h"

namespace partita {

OpDef neg_op() {
  OpDef op;
  op.name = "neg";
  op.summary = "-x";
  op.infer = [](const OpCall& call) {
    require_operands("neg", call, 1);
    return infer_pointwise_float("neg", call);
  };
  op.rule = [](const OpCall& call) { return pointwise_rule(call).linear_in({0}); };
  op.grad = [](const GradCall& call) -> std::vector<Value> { return {call.apply("neg", {call.d_outputs[0]})}; };
  op.kernel = [](const Attrs&, Inputs in, Outputs out) { unary_float_kernel(in, out, [](auto x) { return -x; }); };
  op.samples = {{{sample_of({4, 6})}}, {{sample_of({5})}}};
  return op;
}

}  // namespace partita
