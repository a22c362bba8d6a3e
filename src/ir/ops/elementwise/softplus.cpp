#include "ir/ops/pointwise.h"

namespace partita {

std::vector<OpDef> softplus_ops() {
  OpDef op = slope_op(
      "softplus", "log(1 + exp(x))", kMaxMin,
      [](auto x) { return select_of(x < 0, decltype(x)(0), x) + log1p_of(exp_of(-abs_of(x))); },
      [](const GradCall& call) { return call.apply("sigmoid", {call.inputs[0]}); });
  op.flops_per_point = 15;
  return {op};
}

}  // namespace partita
