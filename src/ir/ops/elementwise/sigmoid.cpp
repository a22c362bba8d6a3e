#include "ir/ops/elementwise/attrs.h"
#include "ir/ops/pointwise.h"

namespace partita {

std::vector<OpDef> sigmoid_ops() {
  OpDef op = pointwise_op("sigmoid", "1 / (1 + exp(-x))", [](auto x) { return sigmoid_of(x); });
  op.rule = [](const OpCall& call) { return pointwise_rule(call).linear_in({0}, kMaxMin); };
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    const Value rest = call.apply("scale", {call.outputs[0]}, ScaleAttrs{.scale = -1, .bias = 1});
    return {call.apply("mul", {call.d_outputs[0], call.apply("mul", {call.outputs[0], rest})})};
  };
  op.samples = {{{sample_of({4, 6})}}, {{sample_of({5})}}};
  return {op};
}

}  // namespace partita
