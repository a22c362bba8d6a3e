#include "ops/support.h"

namespace partita {

OpDef sign_op() {
  OpDef op;
  op.name = "sign";
  op.summary = "-1, 0 or 1; its gradient is 0 everywhere";
  op.infer = [](const OpCall& call) {
    require_operands("sign", call, 1);
    return infer_pointwise_float("sign", call);
  };
  op.rule = [](const OpCall& call) { return pointwise_rule(call).linear_in({0}, kMaxMin); };
  op.grad = [](const GradCall&) -> std::vector<Value> { return {Value()}; };
  op.kernel = [](const Attrs&, Inputs in, Outputs out) {
    unary_float_kernel(in, out, [](auto x) { return static_cast<decltype(x)>((x > 0) - (x < 0)); });
  };
  op.samples = {{{sample_of({4, 6}, Fill::distinct)}}, {{sample_of({5}, Fill::distinct)}}};
  return op;
}

}  // namespace partita
