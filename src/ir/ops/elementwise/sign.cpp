#include "ir/ops/pointwise.h"

namespace partita {

std::vector<OpDef> sign_ops() {
  OpDef op = pointwise_op("sign", "-1, 0 or 1; NaN stays; its gradient is 0 everywhere", [](auto x) {
    using T = decltype(x);
    return select_of(x > 0, T(1), select_of(x < 0, T(-1), select_of(x == 0, T(0), x)));
  });
  op.rule = [](const OpCall& call) { return pointwise_rule(call).linear_in({0}, kMaxMin); };
  op.grad = no_gradients;
  op.samples = {{{sample_of({4, 6}, Fill::distinct)}}, {{sample_of({5}, Fill::distinct)}}};
  return {op};
}

}  // namespace partita
