#include <cmath>

#include "ops/support.h"

namespace partita {

OpDef sqrt_op() {
  OpDef op;
  op.name = "sqrt";
  op.summary = "square root of x";
  op.infer = [](const OpCall& call) {
    require_operands("sqrt", call, 1);
    return infer_pointwise_float("sqrt", call);
  };
  // Not max: of a part that has only negative numbers it would be NaN, which wins.
  op.rule = [](const OpCall& call) { return pointwise_rule(call).linear_in({0}, ReduceSet{.min = true}); };
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    const Value half = call.builder.apply_fields("scale", {call.d_outputs[0]}, {{"scale", "0.5"}});
    return {call.apply("div", {half, call.outputs[0]})};
  };
  op.kernel = [](const Attrs&, Inputs in, Outputs out) {
    unary_float_kernel(in, out, [](auto x) { return std::sqrt(x); });
  };
  op.samples = {{{sample_of({4, 6}, Fill::positive)}}, {{sample_of({5}, Fill::positive)}}};
  return op;
}

}  // namespace partita
