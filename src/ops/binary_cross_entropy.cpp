#include <cmath>

#include "ops/support.h"

namespace partita {
namespace {

double loss_of(double x, double label) {
  return (x < 0 ? -x * label : x * (1 - label)) + std::log1p(std::exp(-std::abs(x)));
}

}  // namespace

OpDef binary_cross_entropy_op() {
  OpDef op;
  op.name = "binary_cross_entropy";
  op.summary = "-y log(sigmoid(x)) - (1 - y) log(1 - sigmoid(x)), broadcast";
  op.infer = [](const OpCall& call) {
    require_operands("binary_cross_entropy", call, 2);
    return infer_pointwise_float("binary_cross_entropy", call);
  };
  op.rule = [](const OpCall& call) { return pointwise_rule(call); };
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    const Value d = call.d_outputs[0], x = call.inputs[0], label = call.inputs[1];
    const Value slope = call.apply("sub", {call.apply("sigmoid", {x}), label});
    const Value d_label = call.apply("neg", {call.apply("mul", {d, x})});
    return {sum_to(call, call.apply("mul", {d, slope}), x.type()), sum_to(call, d_label, label.type())};
  };
  op.flops_per_point = 20;
  op.kernel = [](const Attrs&, Inputs in, Outputs out) {
    binary_kernel(in, out, [](auto x, auto label) {
      return static_cast<decltype(x)>(loss_of(static_cast<double>(x), static_cast<double>(label)));
    });
  };
  op.samples = {{{sample_of({4, 6}), sample_of({4, 6}, Fill::unit)}},
                {{sample_of({4, 3, 5}), sample_of({3, 1}, Fill::unit)}},
                {{sample_of({5}), sample_of({}, Fill::unit)}}};
  return op;
}

}  // namespace partita
