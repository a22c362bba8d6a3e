#include <cmath>

#include "ops/support.h"

namespace partita {

OpDef softplus_op() {
  OpDef op;
  op.name = "softplus";
  op.summary = "log(1 + exp(x))";
  op.infer = [](const OpCall& call) {
    require_operands("softplus", call, 1);
    return infer_pointwise_float("softplus", call);
  };
  op.rule = [](const OpCall& call) { return pointwise_rule(call).linear_in({0}, kMaxMin); };
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    return {call.apply("mul", {call.d_outputs[0], call.apply("sigmoid", {call.inputs[0]})})};
  };
  op.flops_per_point = 15;
  op.kernel = [](const Attrs&, Inputs in, Outputs out) {
    unary_float_kernel(in, out,
                       [](auto x) { return std::max<decltype(x)>(x, 0) + std::log1p(std::exp(-std::abs(x))); });
  };
  op.samples = {{{sample_of({4, 6})}}, {{sample_of({5})}}};
  return op;
}

}  // namespace partita
