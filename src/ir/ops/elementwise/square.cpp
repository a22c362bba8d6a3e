#include "ir/ops/elementwise/attrs.h"
#include "ir/ops/pointwise.h"

namespace partita {

std::vector<OpDef> square_ops() {
  OpDef op = pointwise_op("square", "x * x", [](auto x) { return x * x; });
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    const Value twice = call.apply("scale", {call.inputs[0]}, ScaleAttrs{.scale = 2});
    return {call.apply("mul", {call.d_outputs[0], twice})};
  };
  op.samples = {{{sample_of({4, 6})}}, {{sample_of({5})}}};
  return {op};
}

}  // namespace partita
