#include "base/special_functions.h"
#include "ir/ops/elementwise/attrs.h"
#include "ir/ops/pointwise.h"

namespace partita {

std::vector<OpDef> log1p_ops() {
  OpDef op = slope_op(
      "log1p", "natural logarithm of 1 + x", ReduceSet{.min = true}, [](auto x) { return log_plus_one_of(x); },
      [](const GradCall& call) {
        const Value sum = call.apply("scale", {call.inputs[0]}, ScaleAttrs{.scale = 1, .bias = 1});
        return call.apply("pow", {sum}, PowAttrs{-1});
      },
      Fill::positive);
  op.flops_per_point = 20;
  return {op};
}

}  // namespace partita
