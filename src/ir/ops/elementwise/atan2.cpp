#include "base/special_functions.h"
#include "ir/ops/pointwise.h"

namespace partita {

std::vector<OpDef> atan2_ops() {
  OpDef op = pointwise_op("atan2", "angle from -pi to pi of the point (b, a), broadcast",
                          [](auto a, auto b) { return atan2_of(a, b); });
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    const Value a = call.inputs[0], b = call.inputs[1];
    const Value square = call.apply("add", {call.apply("square", {a}), call.apply("square", {b})});
    const Value d = call.apply("div", {call.d_outputs[0], square});
    return {sum_to(call, call.apply("mul", {d, b}), a.type()),
            sum_to(call, call.apply("neg", {call.apply("mul", {d, a})}), b.type())};
  };
  op.flops_per_point = 30;
  op.samples = {{{sample_of({4, 6}), sample_of({4, 6})}},
                {{sample_of({4, 3, 5}), sample_of({3, 1})}},
                {{sample_of({5}), sample_of({}, Fill::positive)}}};
  return {op};
}

}  // namespace partita
