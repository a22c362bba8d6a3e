#include "base/special_functions.h"
#include "ir/ops/elementwise/attrs.h"
#include "ir/ops/pointwise.h"

namespace partita {

std::vector<OpDef> digamma_ops() {
  OpDef op = slope_op(
      "digamma", "derivative of the logarithm of the gamma function of x", {}, [](auto x) { return digamma_of(x); },
      [](const GradCall& call) { return call.apply("polygamma", {call.inputs[0]}, PolygammaAttrs{1}); },
      Fill::positive);
  op.flops_per_point = 100;
  return {op};
}

}  // namespace partita
