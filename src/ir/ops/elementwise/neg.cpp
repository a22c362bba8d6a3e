#include "ir/ops/pointwise.h"

namespace partita {

std::vector<OpDef> neg_ops() {
  OpDef op = pointwise_op("neg", "-x", [](auto x) { return -x; });
  op.rule = [](const OpCall& call) { return pointwise_rule(call).linear_in({0}); };
  op.grad = [](const GradCall& call) -> std::vector<Value> { return {call.apply("neg", {call.d_outputs[0]})}; };
  op.traits.degree = degree_of_first;
  op.samples = {{{sample_of({4, 6})}}, {{sample_of({5})}}};
  return {op};
}

}  // namespace partita
