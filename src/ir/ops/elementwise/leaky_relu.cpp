#include "ir/ops/constant.h"
#include "ir/ops/elementwise/attrs.h"
#include "ir/ops/pointwise.h"

namespace partita {
namespace {

struct LeakyReluAttrs {
  double slope = 0.01;
  static constexpr auto fields() { return std::tuple{field("slope", &LeakyReluAttrs::slope)}; }
};

}  // namespace

std::vector<OpDef> leaky_relu_ops() {
  OpDef op = pointwise_op<LeakyReluAttrs>("leaky_relu", "x, times slope where x < 0; NaN stays",
                                          [](const LeakyReluAttrs& attrs) {
                                            return formula([=](auto x) {
                                              const auto zero = decltype(x)(0), slope = decltype(x)(attrs.slope);
                                              return max_of(x, zero) + slope * min_of(x, zero);
                                            });
                                          });
  op.rule = [](const OpCall& call) {
    ShardingRule rule = pointwise_rule(call);
    return call.attrs.as<LeakyReluAttrs>().slope >= 0 ? rule.linear_in({0}, kMaxMin) : rule;
  };
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    const Value x = call.inputs[0], d = call.d_outputs[0];
    const Value negative = call.apply("less", {x, constant(call.builder, 0, Type{x.dtype(), {}})});
    const Value sloped = call.apply("scale", {d}, ScaleAttrs{.scale = call.attrs.as<LeakyReluAttrs>().slope});
    return {call.apply("select", {negative, sloped, d})};
  };
  op.flops_per_point = 2;
  op.samples = {{{sample_of({4, 6})}, LeakyReluAttrs{.slope = 0.2}}, {{sample_of({5})}, LeakyReluAttrs{.slope = -0.5}}};
  return {op};
}

}  // namespace partita
