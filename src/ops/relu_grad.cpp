#include "ops/support.h"

namespace partita {

OpDef relu_grad_op() {
  OpDef op;
  op.name = "relu_grad";
  op.summary = "0 where y <= 0, else d_y";
  op.infer = [](const OpCall& call) {
    require_operands("relu_grad", call, 2);
    return infer_pointwise_float("relu_grad", call);
  };
  op.rule = [](const OpCall& call) { return pointwise_rule(call).linear_in({0}); };
  op.kernel = [](const Attrs&, Inputs in, Outputs out) {
    binary_kernel(in, out, [](auto d_y, auto y) { return y <= 0 ? 0 : d_y; });
  };
  op.samples = {{{sample_of({4, 6}), sample_of({4, 6})}}};
  return op;
}

}  // namespace partita
