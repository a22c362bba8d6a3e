#include "ops/silu.h"

#include "ops/support.h"

namespace partita {

OpDef silu_op() {
  OpDef op;
  op.name = "silu";
  op.summary = "x / (1 + exp(-x))";
  op.infer = [](const OpCall& call) {
    require_operands("silu", call, 1);
    return infer_pointwise_float("silu", call);
  };
  op.rule = [](const OpCall& call) { return pointwise_rule(call); };
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    return {call.apply("silu_grad", {call.d_outputs[0], call.inputs[0]})};
  };
  op.flops_per_point = 10;
  op.kernel = [](const Attrs&, Inputs in, Outputs out) {
    unary_float_kernel(in, out, [](auto x) { return static_cast<decltype(x)>(silu_of(x)); });
  };
  op.samples = {{{sample_of({4, 6})}}, {{sample_of({5})}}};
  return op;
}

}  // namespace partita
