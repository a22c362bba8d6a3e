#include "ir/ops/elementwise/attrs.h"
#include "ir/ops/pointwise.h"

namespace partita {

std::vector<OpDef> rsqrt_ops() {
  return {slope_op(
      "rsqrt", "1 / square root of x", {}, [](auto x) { return 1 / sqrt_of(x); },
      [](const GradCall& call) {
        // d = -y^3 / 2
        const Value cube = call.apply("mul", {call.outputs[0], call.apply("square", {call.outputs[0]})});
        return call.apply("scale", {cube}, ScaleAttrs{.scale = -0.5});
      },
      Fill::positive)};
}

}  // namespace partita
