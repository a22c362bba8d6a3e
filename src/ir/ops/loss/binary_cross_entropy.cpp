#include "ir/ops/pointwise.h"

namespace partita {

std::vector<OpDef> binary_cross_entropy_ops() {
  OpDef op = pointwise_op("binary_cross_entropy", "-y log(sigmoid(x)) - (1 - y) log(1 - sigmoid(x)), broadcast",
                          [](auto x, auto label) {
                            using T = decltype(x);
                            return x * (select_of(x < 0, T(0), T(1)) - label) + log1p_of(exp_of(-abs_of(x)));
                          });
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    const Value d = call.d_outputs[0], x = call.inputs[0], label = call.inputs[1];
    const Value slope = call.apply("sub", {call.apply("sigmoid", {x}), label});
    const Value d_label = call.apply("neg", {call.apply("mul", {d, x})});
    return {sum_to(call, call.apply("mul", {d, slope}), x.type()), sum_to(call, d_label, label.type())};
  };
  op.flops_per_point = 20;
  op.samples = {{{sample_of({4, 6}), sample_of({4, 6}, Fill::unit)}},
                {{sample_of({4, 3, 5}), sample_of({3, 1}, Fill::unit)}},
                {{sample_of({5}), sample_of({}, Fill::unit)}}};
  return {op};
}

}  // namespace partita
