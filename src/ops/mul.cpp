#include "ops/support.h"

namespace partita {

OpDef mul_op() {
  OpDef op;
  op.name = "mul";
  op.summary = "a * b, broadcast";
  op.infer = [](const OpCall& call) {
    require_operands("mul", call, 2);
    return infer_pointwise("mul", call);
  };
  op.rule = [](const OpCall& call) { return pointwise_rule(call).linear_in({0}).linear_in({1}); };
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    const Value d = call.d_outputs[0];
    return {sum_to(call, call.apply("mul", {d, call.inputs[1]}), call.inputs[0].type()),
            sum_to(call, call.apply("mul", {d, call.inputs[0]}), call.inputs[1].type())};
  };
  op.kernel = [](const Attrs&, Inputs in, Outputs out) {
    binary_kernel(in, out, [](auto a, auto b) { return a * b; });
  };
  op.samples = {{{sample_of({4, 6}), sample_of({4, 6})}},
                {{sample_of({4, 3, 5}), sample_of({3, 1})}},
                {{sample_of({5}), sample_of({})}}};
  return op;
}

}  // namespace partita
