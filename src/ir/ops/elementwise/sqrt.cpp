#include "ir/ops/elementwise/attrs.h"
#include "ir/ops/pointwise.h"

namespace partita {

std::vector<OpDef> sqrt_ops() {
  OpDef op = pointwise_op("sqrt", "square root of x", [](auto x) { return sqrt_of(x); });
  // Not max: a part with only negative numbers would be NaN, which wins.
  op.rule = [](const OpCall& call) { return pointwise_rule(call).linear_in({0}, ReduceSet{.min = true}); };
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    const Value half = call.apply("scale", {call.d_outputs[0]}, ScaleAttrs{.scale = 0.5});
    return {call.apply("div", {half, call.outputs[0]})};
  };
  op.samples = {{{sample_of({4, 6}, Fill::positive)}}, {{sample_of({5}, Fill::positive)}}};
  return {op};
}

}  // namespace partita
