#include "ops/gelu.h"
#include "ops/support.h"

namespace partita {

OpDef gelu_grad_op() {
  OpDef op;
  op.name = "gelu_grad";
  op.summary = "d_y times the slope of gelu at x";
  op.attrs = Attrs(GeluAttrs{});
  op.infer = [](const OpCall& call) {
    require_operands("gelu_grad", call, 2);
    return infer_pointwise_float("gelu_grad", call);
  };
  op.rule = [](const OpCall& call) { return pointwise_rule(call).linear_in({0}); };
  op.flops_per_point = 25;
  op.kernel = [](const Attrs& attrs, Inputs in, Outputs out) {
    const bool approximate = attrs.as<GeluAttrs>().approximate;
    binary_kernel(in, out, [=](auto d_y, auto x) {
      return static_cast<decltype(d_y)>(static_cast<double>(d_y) * gelu_slope(static_cast<double>(x), approximate));
    });
  };
  op.samples = {{{sample_of({4, 6}), sample_of({4, 6})}}, {{sample_of({5}), sample_of({5})}, Attrs(GeluAttrs{true})}};
  return op;
}

}  // namespace partita
