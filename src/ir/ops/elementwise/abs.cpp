#include "ir/ops/pointwise.h"

namespace partita {

std::vector<OpDef> abs_ops() {
  OpDef op = pointwise_op("abs", "magnitude of x; the gradient at 0 is 0", [](auto x) { return abs_of(x); });
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    return {call.apply("mul", {call.d_outputs[0], call.apply("sign", {call.inputs[0]})})};
  };
  op.samples = {{{sample_of({4, 6}, Fill::distinct)}}, {{sample_of({5}, Fill::distinct)}}};
  return {op};
}

}  // namespace partita
