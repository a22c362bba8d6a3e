#include "ops/scale.h"

#include "ops/support.h"

namespace partita {

OpDef scale_op() {
  OpDef op;
  op.name = "scale";
  op.summary = "x * scale + bias, with two numbers";
  op.attrs = Attrs(ScaleAttrs{});
  op.infer = [](const OpCall& call) {
    require_operands("scale", call, 1);
    return infer_pointwise_float("scale", call);
  };
  op.rule = [](const OpCall& call) {
    const ScaleAttrs& attrs = call.attrs.as<ScaleAttrs>();
    const ReduceSet kinds{.sum = attrs.bias == 0, .max = attrs.scale >= 0, .min = attrs.scale >= 0};
    ShardingRule rule = pointwise_rule(call);
    return kinds.sum || kinds.max ? rule.linear_in({0}, kinds) : rule;
  };
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    return {call.apply("scale", {call.d_outputs[0]}, Attrs(ScaleAttrs{call.attrs.as<ScaleAttrs>().scale, 0}))};
  };
  op.kernel = [](const Attrs& attrs, Inputs in, Outputs out) {
    const ScaleAttrs& numbers = attrs.as<ScaleAttrs>();
    unary_float_kernel(in, out, [&](auto x) {
      using T = decltype(x);
      return x * static_cast<T>(numbers.scale) + static_cast<T>(numbers.bias);
    });
  };
  op.samples = {{{sample_of({4, 6})}, Attrs(ScaleAttrs{2.5, 0})},
                {{sample_of({5})}, Attrs(ScaleAttrs{0.5, 1})},
                {{sample_of({5})}, Attrs(ScaleAttrs{-0.5, 1})}};
  return op;
}

}  // namespace partita
