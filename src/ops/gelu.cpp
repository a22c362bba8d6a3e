#include "ops/gelu.h"

#include "ops/support.h"

namespace partita {

OpDef gelu_op() {
  OpDef op;
  op.name = "gelu";
  op.summary = "x times the normal distribution function of x";
  op.attrs = Attrs(GeluAttrs{});
  op.infer = [](const OpCall& call) {
    require_operands("gelu", call, 1);
    return infer_pointwise_float("gelu", call);
  };
  op.rule = [](const OpCall& call) { return pointwise_rule(call); };
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    return {call.apply("gelu_grad", {call.d_outputs[0], call.inputs[0]}, call.attrs)};
  };
  op.flops_per_point = 20;
  op.kernel = [](const Attrs& attrs, Inputs in, Outputs out) {
    const bool approximate = attrs.as<GeluAttrs>().approximate;
    unary_float_kernel(in, out, [=](auto x) { return static_cast<decltype(x)>(gelu_of(x, approximate)); });
  };
  op.samples = {{{sample_of({4, 6})}}, {{sample_of({5})}, Attrs(GeluAttrs{true})}};
  return op;
}

}  // namespace partita
