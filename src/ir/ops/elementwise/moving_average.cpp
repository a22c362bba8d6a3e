#include "ir/ops/elementwise/moving_average.h"

#include "ir/ops/elementwise/attrs.h"
#include "ir/ops/pointwise.h"

namespace partita {

std::vector<OpDef> moving_average_ops() {
  OpDef op = pointwise_op<MovingAverageAttrs>(
      "moving_average", "(average, x): keep average + (1 - keep) x", [](const MovingAverageAttrs& attrs) {
        return formula([=](auto average, auto x) {
          return decltype(x)(attrs.keep) * average + decltype(x)(1 - attrs.keep) * x;
        });
      });
  op.rule = [](const OpCall& call) { return pointwise_rule(call).linear_in({0, 1}); };
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    const double keep = call.attrs.as<MovingAverageAttrs>().keep;
    const Value d = call.d_outputs[0];
    return {sum_to(call, call.apply("scale", {d}, ScaleAttrs{.scale = keep}), call.inputs[0].type()),
            sum_to(call, call.apply("scale", {d}, ScaleAttrs{.scale = 1 - keep}), call.inputs[1].type())};
  };
  op.flops_per_point = 3;
  op.samples = {{{sample_of({4, 6}), sample_of({4, 6})}, MovingAverageAttrs{.keep = 0.75}},
                {{sample_of({5}), sample_of({5})}, MovingAverageAttrs{.keep = 0}}};
  return {op};
}

}  // namespace partita
