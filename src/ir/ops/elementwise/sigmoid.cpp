#include "ir/ops/elementwise/attrs.h"
#include "ir/ops/pointwise.h"

namespace partita {

std::vector<OpDef> sigmoid_ops() {
  return {slope_op(
      "sigmoid", "1 / (1 + exp(-x))", kMaxMin, [](auto x) { return sigmoid_of(x); },
      [](const GradCall& call) {
        const Value rest = call.apply("scale", {call.outputs[0]}, ScaleAttrs{.scale = -1, .bias = 1});
        return call.apply("mul", {call.outputs[0], rest});
      })};
}

}  // namespace partita
