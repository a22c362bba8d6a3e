#include "base/special_functions.h"
#include "ir/ops/elementwise/attrs.h"
#include "ir/ops/pointwise.h"

namespace partita {

std::vector<OpDef> acos_ops() {
  OpDef op = slope_op(
      "acos", "angle from 0 to pi whose cosine is x", {}, [](auto x) { return acos_of(x); },
      [](const GradCall& call) {
        const Value rest =
            call.apply("scale", {call.apply("square", {call.inputs[0]})}, ScaleAttrs{.scale = -1, .bias = 1});
        return call.apply("neg", {call.apply("rsqrt", {rest})});
      },
      Fill::within);
  op.flops_per_point = 20;
  return {op};
}

}  // namespace partita
