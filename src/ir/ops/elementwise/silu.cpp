#include "ir/ops/elementwise/attrs.h"
#include "ir/ops/formula_gradient.h"
#include "ir/ops/pointwise.h"

namespace partita {
namespace {

// The sigmoid linear unit (Hendrycks and Gimpel, 2016), also called swish.

OpDef silu_op() {
  OpDef op = pointwise_op("silu", "x / (1 + exp(-x))", [](auto x) { return x / (1 + exp_of(-x)); });
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    return {call.apply("silu_grad", {call.d_outputs[0], call.inputs[0]})};
  };
  op.flops_per_point = 10;
  op.samples = {{{sample_of({4, 6})}}, {{sample_of({5})}}};
  return op;
}

/// Builds d_y s (1 + x (1 - s)), where s is the sigmoid of x.
std::vector<Value> silu_grad_formula(const ExpandCall& call) {
  const Value x = call.inputs[1], gate = call.apply("sigmoid", {x});
  const Value rest = call.apply("mul", {x, call.apply("scale", {gate}, ScaleAttrs{.scale = -1, .bias = 1})});
  const Value slope = call.apply("mul", {gate, call.apply("scale", {rest}, ScaleAttrs{.bias = 1})});
  return {call.apply("mul", {call.inputs[0], slope})};
}

OpDef silu_grad_op() {
  OpDef op = pointwise_op("silu_grad", "d_y times the slope of silu at x", [](auto d_y, auto x) {
    const auto gate = sigmoid_of(x);
    return d_y * (gate * (1 + x * (1 - gate)));
  });
  op.rule = [](const OpCall& call) { return pointwise_rule(call).linear_in({0}); };
  op.grad = by_formula(silu_grad_formula);
  op.flops_per_point = 15;
  op.samples = {{{sample_of({4, 6}), sample_of({4, 6})}}, {{sample_of({5}), sample_of({5})}}};
  return op;
}

}  // namespace

std::vector<OpDef> silu_ops() { return {silu_op(), silu_grad_op()}; }

}  // namespace partita
