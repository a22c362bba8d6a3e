#include "ir/ops/pointwise.h"

namespace partita {

std::vector<OpDef> softplus_ops() {
  OpDef op = pointwise_op("softplus", "log(1 + exp(x))",
                          [](auto x) { return select_of(x < 0, decltype(x)(0), x) + log1p_of(exp_of(-abs_of(x))); });
  op.rule = [](const OpCall& call) { return pointwise_rule(call).linear_in({0}, kMaxMin); };
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    return {call.apply("mul", {call.d_outputs[0], call.apply("sigmoid", {call.inputs[0]})})};
  };
  op.flops_per_point = 15;
  op.samples = {{{sample_of({4, 6})}}, {{sample_of({5})}}};
  return {op};
}

}  // namespace partita
