#include "ir/ops/pointwise.h"

namespace partita {

std::vector<OpDef> div_ops() {
  OpDef op = pointwise_op("div", "a / b, broadcast", [](auto a, auto b) { return a / b; });
  op.rule = [](const OpCall& call) { return pointwise_rule(call).linear_in({0}); };
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    const Value d = call.d_outputs[0];
    const Value d_a = call.apply("div", {d, call.inputs[1]});
    const Value d_b = call.apply("neg", {call.apply("mul", {d_a, call.outputs[0]})});
    return {sum_to(call, d_a, call.inputs[0].type()), sum_to(call, d_b, call.inputs[1].type())};
  };
  op.traits.degree = [](const Attrs&, const std::vector<int>& degrees) -> std::optional<int> {
    return degrees[0] - degrees[1];
  };
  op.samples = {{{sample_of({4, 6}, Fill::positive), sample_of({4, 6}, Fill::positive)}},
                {{sample_of({4, 3, 5}, Fill::positive), sample_of({3, 1}, Fill::positive)}},
                {{sample_of({5}, Fill::positive), sample_of({}, Fill::positive)}}};
  return {op};
}

}  // namespace partita
