#include "ir/ops/elementwise/attrs.h"
#include "ir/ops/pointwise.h"

namespace partita {

std::vector<OpDef> tanh_ops() {
  OpDef op = pointwise_op("tanh", "hyperbolic tangent of x", [](auto x) { return tanh_of(x); });
  op.rule = [](const OpCall& call) { return pointwise_rule(call).linear_in({0}, kMaxMin); };
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    const Value square = call.apply("square", {call.outputs[0]});
    const Value slope = call.apply("scale", {square}, ScaleAttrs{.scale = -1, .bias = 1});
    return {call.apply("mul", {call.d_outputs[0], slope})};
  };
  op.samples = {{{sample_of({4, 6})}}, {{sample_of({5})}}};
  return {op};
}

}  // namespace partita
