#include "base/number.h"
#include "ops/support.h"

namespace partita {

OpDef maximum_op() {
  OpDef op;
  op.name = "maximum";
  op.summary = "the larger of a and b, broadcast; equal ones send their gradient to a, NaN wins";
  op.infer = [](const OpCall& call) {
    require_operands("maximum", call, 2);
    return infer_pointwise("maximum", call);
  };
  op.rule = [](const OpCall& call) { return pointwise_rule(call).linear_in({0, 1}, kMax); };
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    const Value d = call.d_outputs[0];
    const Value second = call.apply("greater", {call.inputs[1], call.inputs[0]});
    const Value zero = constant(call.builder, 0, d.type());
    return {sum_to(call, call.apply("select", {second, zero, d}), call.inputs[0].type()),
            sum_to(call, call.apply("select", {second, d, zero}), call.inputs[1].type())};
  };
  op.kernel = [](const Attrs&, Inputs in, Outputs out) {
    binary_kernel(in, out, [](auto a, auto b) { return b > a || is_nan(b) ? b : a; });
  };
  op.samples = {{{sample_of({4, 6}, Fill::distinct), sample_of({4, 6}, Fill::distinct)}},
                {{sample_of({4, 3, 5}, Fill::distinct), sample_of({3, 1}, Fill::distinct)}},
                {{sample_of({5}, Fill::distinct), sample_of({}, Fill::distinct)}}};
  return op;
}

}  // namespace partita
