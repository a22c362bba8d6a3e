#include "ir/ops/pointwise.h"

namespace partita {

std::vector<OpDef> sign_ops() {
  OpDef op = pointwise_op("sign", "-1, 0 or 1; its gradient is 0 everywhere", [](auto x) { return (x > 0) - (x < 0); });
  op.rule = [](const OpCall& call) { return pointwise_rule(call).linear_in({0}, kMaxMin); };
  op.grad = [](const GradCall&) -> std::vector<Value> { return {Value()}; };
  op.samples = {{{sample_of({4, 6}, Fill::distinct)}}, {{sample_of({5}, Fill::distinct)}}};
  return {op};
}

}  // namespace partita
