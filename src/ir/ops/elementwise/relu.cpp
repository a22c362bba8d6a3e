#include "ir/ops/pointwise.h"

namespace partita {
namespace {

OpDef relu_op() {
  OpDef op = pointwise_op("relu", "max(x, 0); NaN stays", [](auto x) { return select_of(x < 0, decltype(x)(0), x); });
  op.rule = [](const OpCall& call) { return pointwise_rule(call).linear_in({0}, kMaxMin); };
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    return {call.apply("relu_grad", {call.d_outputs[0], call.outputs[0]})};
  };
  op.samples = {{{sample_of({4, 6}, Fill::distinct)}}, {{sample_of({5})}}};
  return op;
}

OpDef relu_grad_op() {
  OpDef op = pointwise_op("relu_grad", "0 where y <= 0, else d_y",
                          [](auto d_y, auto y) { return select_of(y <= 0, decltype(d_y)(0), d_y); });
  op.rule = [](const OpCall& call) { return pointwise_rule(call).linear_in({0}); };
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    const Value d = call.apply("relu_grad", {call.d_outputs[0], call.inputs[1]});
    return {sum_to(call, d, call.inputs[0].type()), Value()};  // the slope is constant
  };
  op.samples = {{{sample_of({4, 6}), sample_of({4, 6})}}, {{sample_of({3, 1}), sample_of({4, 3, 5})}}};
  return op;
}

}  // namespace

std::vector<OpDef> relu_ops() { return {relu_op(), relu_grad_op()}; }

}  // namespace partita
