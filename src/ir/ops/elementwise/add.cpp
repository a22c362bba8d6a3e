#include "ir/ops/pointwise.h"

namespace partita {

std::vector<OpDef> add_ops() {
  OpDef op = number_op("add", "a + b, broadcast", [](auto a, auto b) { return a + b; });
  op.rule = [](const OpCall& call) { return pointwise_rule(call).linear_in({0, 1}); };
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    const Value d = call.d_outputs[0];
    return {sum_to(call, d, call.inputs[0].type()), sum_to(call, d, call.inputs[1].type())};
  };
  op.traits.is_sum = true;
  op.traits.degree = degree_of_all;
  op.samples = {{{sample_of({4, 6}), sample_of({4, 6})}},
                {{sample_of({4, 3, 5}), sample_of({3, 1})}},
                {{sample_of({5}), sample_of({})}}};
  return {op};
}

}  // namespace partita
