#include "ir/ops/elementwise/attrs.h"
#include "ir/ops/pointwise.h"

namespace partita {

std::vector<OpDef> square_ops() {
  return {slope_op(
      "square", "x * x", {}, [](auto x) { return x * x; },
      [](const GradCall& call) { return call.apply("scale", {call.inputs[0]}, ScaleAttrs{.scale = 2}); })};
}

}  // namespace partita
