#include "ir/ops/elementwise/attrs.h"
#include "ir/ops/pointwise.h"

namespace partita {

std::vector<OpDef> scale_ops() {
  OpDef op = pointwise_op<ScaleAttrs>("scale", "x * scale + bias, with two numbers", [](const ScaleAttrs& attrs) {
    // Adding 0 would make 0 of -0.
    if (attrs.bias == 0) return formula([=](auto x) { return x * decltype(x)(attrs.scale); });
    return formula([=](auto x) { return x * decltype(x)(attrs.scale) + decltype(x)(attrs.bias); });
  });
  op.rule = [](const OpCall& call) {
    const ScaleAttrs& attrs = call.attrs.as<ScaleAttrs>();
    const ReduceSet kinds{.sum = attrs.bias == 0, .max = attrs.scale >= 0, .min = attrs.scale >= 0};
    ShardingRule rule = pointwise_rule(call);
    return kinds.sum || kinds.max ? rule.linear_in({0}, kinds) : rule;
  };
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    return {call.apply("scale", {call.d_outputs[0]}, ScaleAttrs{call.attrs.as<ScaleAttrs>().scale, 0})};
  };
  op.traits.degree = [](const Attrs& attrs, const std::vector<int>& degrees) {
    return attrs.as<ScaleAttrs>().bias == 0 ? std::optional(degrees[0]) : std::nullopt;
  };
  op.samples = {{{sample_of({4, 6})}, ScaleAttrs{2.5, 0}},
                {{sample_of({5})}, ScaleAttrs{0.5, 1}},
                {{sample_of({5})}, ScaleAttrs{-0.5, 1}}};
  return {op};
}

}  // namespace partita
