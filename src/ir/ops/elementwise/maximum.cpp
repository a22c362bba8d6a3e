#include "ir/ops/constant.h"
#include "ir/ops/elementwise/attrs.h"
#include "ir/ops/pointwise.h"

namespace partita {
namespace {

/// Returns the gradients of the first and of the second operand of a choice. The gradient of the result goes to the
/// second where `second` holds, else to the first, and 0 to the other; sums undo a broadcast.
std::vector<Value> gradients_of_choice(const GradCall& call, Value second) {
  const Value d = call.d_outputs[0], zero = constant(call.builder, 0, d.type());
  return {sum_to(call, call.apply("select", {second, zero, d}), call.inputs[0].type()),
          sum_to(call, call.apply("select", {second, d, zero}), call.inputs[1].type())};
}

/// Returns the gradients of a choice as `gradients_of_choice` does, but each of two equal operands has half of it.
std::vector<Value> shared_gradients_of_choice(const GradCall& call, Value second) {
  const Value d = call.d_outputs[0], zero = constant(call.builder, 0, d.type());
  const Value half = call.apply("scale", {d}, ScaleAttrs{.scale = 0.5});
  const Value equal = call.apply("equal", {call.inputs[0], call.inputs[1]});
  const auto share = [&](Value one, Value other) {
    return call.apply("select", {equal, half, call.apply("select", {second, one, other})});
  };
  return {sum_to(call, share(zero, d), call.inputs[0].type()), sum_to(call, share(d, zero), call.inputs[1].type())};
}

std::vector<Sample> choice_samples() {
  return {{{sample_of({4, 6}, Fill::distinct), sample_of({4, 6}, Fill::distinct)}},
          {{sample_of({4, 3, 5}, Fill::distinct), sample_of({3, 1}, Fill::distinct)}},
          {{sample_of({5}, Fill::distinct), sample_of({}, Fill::distinct)}}};
}

OpDef maximum_op() {
  OpDef op = number_op("maximum", "the larger of a and b, broadcast; equal ones send their gradient to a, NaN wins",
                       [](auto a, auto b) { return select_of(b > a || b != b, b, a); });
  op.rule = [](const OpCall& call) { return pointwise_rule(call).linear_in({0, 1}, kMax); };
  op.grad = [](const GradCall& call) {
    return gradients_of_choice(call, call.apply("greater", {call.inputs[1], call.inputs[0]}));
  };
  op.traits.degree = highest_degree;
  op.samples = choice_samples();
  return op;
}

OpDef minimum_op() {
  OpDef op = number_op("minimum", "the smaller of a and b, broadcast; equal ones send their gradient to a, NaN wins",
                       [](auto a, auto b) { return select_of(b < a || b != b, b, a); });
  op.rule = [](const OpCall& call) { return pointwise_rule(call).linear_in({0, 1}, {.min = true}); };
  op.grad = [](const GradCall& call) {
    return gradients_of_choice(call, call.apply("greater", {call.inputs[0], call.inputs[1]}));
  };
  op.samples = choice_samples();
  return op;
}

OpDef shared_maximum_op() {
  OpDef op = maximum_op();
  op.name = "shared_maximum";
  op.summary = "the larger of a and b, broadcast; equal ones share their gradient, NaN wins";
  op.grad = [](const GradCall& call) {
    return shared_gradients_of_choice(call, call.apply("greater", {call.inputs[1], call.inputs[0]}));
  };
  return op;
}

OpDef shared_minimum_op() {
  OpDef op = minimum_op();
  op.name = "shared_minimum";
  op.summary = "the smaller of a and b, broadcast; equal ones share their gradient, NaN wins";
  op.grad = [](const GradCall& call) {
    return shared_gradients_of_choice(call, call.apply("greater", {call.inputs[0], call.inputs[1]}));
  };
  return op;
}

}  // namespace

std::vector<OpDef> maximum_ops() { return {maximum_op(), minimum_op(), shared_maximum_op(), shared_minimum_op()}; }

}  // namespace partita
