#include "ir/ops/pointwise.h"

namespace partita {

std::vector<OpDef> mul_ops() {
  OpDef op = number_op("mul", "a * b, broadcast", [](auto a, auto b) { return a * b; });
  op.rule = [](const OpCall& call) { return pointwise_rule(call).linear_in({0}).linear_in({1}); };
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    const Value d = call.d_outputs[0];
    return {sum_to(call, call.apply("mul", {d, call.inputs[1]}), call.inputs[0].type()),
            sum_to(call, call.apply("mul", {d, call.inputs[0]}), call.inputs[1].type())};
  };
  op.traits.degree = [](const Attrs&, const std::vector<int>& degrees) -> std::optional<int> {
    return degrees[0] + degrees[1];
  };
  op.samples = {{{sample_of({4, 6}), sample_of({4, 6})}},
                {{sample_of({4, 3, 5}), sample_of({3, 1})}},
                {{sample_of({5}), sample_of({})}}};
  return {op};
}

}  // namespace partita
