#include "base/special_functions.h"
#include "ir/ops/pointwise.h"

namespace partita {

std::vector<OpDef> lgamma_ops() {
  OpDef op = slope_op(
      "lgamma", "logarithm of the magnitude of the gamma function of x", {}, [](auto x) { return lgamma_of(x); },
      [](const GradCall& call) { return call.apply("digamma", {call.inputs[0]}); }, Fill::positive);
  op.flops_per_point = 50;
  return {op};
}

}  // namespace partita
