#include "ir/ops/elementwise/attrs.h"
#include "ir/ops/pointwise.h"

namespace partita {

std::vector<OpDef> rsqrt_ops() {
  OpDef op = pointwise_op("rsqrt", "1 / square root of x", [](auto x) { return 1 / sqrt_of(x); });
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    // d = -y^3 / 2
    const Value cube = call.apply("mul", {call.outputs[0], call.apply("square", {call.outputs[0]})});
    const Value slope = call.apply("scale", {cube}, ScaleAttrs{.scale = -0.5});
    return {call.apply("mul", {call.d_outputs[0], slope})};
  };
  op.samples = {{{sample_of({4, 6}, Fill::positive)}}, {{sample_of({5}, Fill::positive)}}};
  return {op};
}

}  // namespace partita
