#include "ir/ops/elementwise/attrs.h"
#include "ir/ops/pointwise.h"

namespace partita {

std::vector<OpDef> tanh_ops() {
  return {slope_op(
      "tanh", "hyperbolic tangent of x", kMaxMin, [](auto x) { return tanh_of(x); },
      [](const GradCall& call) {
        const Value square = call.apply("square", {call.outputs[0]});
        return call.apply("scale", {square}, ScaleAttrs{.scale = -1, .bias = 1});
      })};
}

}  // namespace partita
