#include "ir/ops/pointwise.h"

namespace partita {

std::vector<OpDef> exp_ops() {
  return {slope_op(
      "exp", "e to the power x", kMaxMin, [](auto x) { return exp_of(x); },
      [](const GradCall& call) { return call.outputs[0]; })};
}

}  // namespace partita
