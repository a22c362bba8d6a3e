#include "ir/ops/pointwise.h"

namespace partita {

std::vector<OpDef> log_ops() {
  OpDef op = pointwise_op("log", "natural logarithm of x", [](auto x) { return log_of(x); });
  // Not max: a part with only negative numbers would be NaN, which wins.
  op.rule = [](const OpCall& call) { return pointwise_rule(call).linear_in({0}, ReduceSet{.min = true}); };
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    return {call.apply("div", {call.d_outputs[0], call.inputs[0]})};
  };
  op.samples = {{{sample_of({4, 6}, Fill::positive)}}, {{sample_of({5}, Fill::positive)}}};
  return {op};
}

}  // namespace partita
