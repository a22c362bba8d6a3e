#include <cmath>

#include "ops/support.h"

namespace partita {

OpDef log_op() {
  OpDef op;
  op.name = "log";
  op.summary = "natural logarithm of x";
  op.infer = [](const OpCall& call) {
    require_operands("log", call, 1);
    return infer_pointwise_float("log", call);
  };
  // Not max: of a part that has only negative numbers it would be NaN, which wins.
  op.rule = [](const OpCall& call) { return pointwise_rule(call).linear_in({0}, ReduceSet{.min = true}); };
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    return {call.apply("div", {call.d_outputs[0], call.inputs[0]})};
  };
  op.kernel = [](const Attrs&, Inputs in, Outputs out) {
    unary_float_kernel(in, out, [](auto x) { return std::log(x); });
  };
  op.samples = {{{sample_of({4, 6}, Fill::positive)}}, {{sample_of({5}, Fill::positive)}}};
  return op;
}

}  // namespace partita
