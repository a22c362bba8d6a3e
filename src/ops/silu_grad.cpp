#include "ops/silu.h"
#include "ops/support.h"

namespace partita {

OpDef silu_grad_op() {
  OpDef op;
  op.name = "silu_grad";
  op.summary = "d_y times the slope of silu at x";
  op.infer = [](const OpCall& call) {
    require_operands("silu_grad", call, 2);
    return infer_pointwise_float("silu_grad", call);
  };
  op.rule = [](const OpCall& call) { return pointwise_rule(call).linear_in({0}); };
  op.flops_per_point = 15;
  op.kernel = [](const Attrs&, Inputs in, Outputs out) {
    binary_kernel(in, out, [](auto d_y, auto x) {
      return static_cast<decltype(d_y)>(static_cast<double>(d_y) * silu_slope(static_cast<double>(x)));
    });
  };
  op.samples = {{{sample_of({4, 6}), sample_of({4, 6})}}, {{sample_of({5}), sample_of({5})}}};
  return op;
}

}  // namespace partita
