#include "ir/ops/pointwise.h"

namespace partita {

std::vector<OpDef> exp_ops() {
  OpDef op = pointwise_op("exp", "e to the power x", [](auto x) { return exp_of(x); });
  op.rule = [](const OpCall& call) { return pointwise_rule(call).linear_in({0}, kMaxMin); };
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    return {call.apply("mul", {call.d_outputs[0], call.outputs[0]})};
  };
  op.samples = {{{sample_of({4, 6})}}, {{sample_of({5})}}};
  return {op};
}

}  // namespace partita
