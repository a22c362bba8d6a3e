#include "ops/support.h"

namespace partita {

OpDef sub_op() {
  OpDef op;
  op.name = "sub";
  op.summary = "a - b, broadcast";
  op.infer = [](const OpCall& call) {
    require_operands("sub", call, 2);
    return infer_pointwise("sub", call);
  };
  op.rule = [](const OpCall& call) { return pointwise_rule(call).linear_in({0, 1}); };
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    const Value d = call.d_outputs[0];
    return {sum_to(call, d, call.inputs[0].type()), sum_to(call, call.apply("neg", {d}), call.inputs[1].type())};
  };
  op.kernel = [](const Attrs&, Inputs in, Outputs out) {
    binary_kernel(in, out, [](auto a, auto b) { return a - b; });
  };
  op.samples = {{{sample_of({4, 6}), sample_of({4, 6})}},
                {{sample_of({4, 3, 5}), sample_of({3, 1})}},
                {{sample_of({5}), sample_of({})}}};
  return op;
}

}  // namespace partita
