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

/// Returns the op of a formula that chooses the larger or the smaller operand. Of equal ones the first gets the
/// gradient, or each half of it.
template <class Fn>
OpDef choice_op(const char* name, const char* summary, bool larger, bool shares, const Fn& fn) {
  OpDef op = number_op(name, summary, fn);
  const ReduceSet reduce = larger ? kMax : ReduceSet{.min = true};
  op.rule = [reduce](const OpCall& call) { return pointwise_rule(call).linear_in({0, 1}, reduce); };
  op.grad = [larger, shares](const GradCall& call) {
    const Value second = call.apply("greater", {call.inputs[larger ? 1 : 0], call.inputs[larger ? 0 : 1]});
    return shares ? shared_gradients_of_choice(call, second) : gradients_of_choice(call, second);
  };
  if (larger) op.traits.degree = highest_degree;
  op.samples = {{{sample_of({4, 6}, Fill::distinct), sample_of({4, 6}, Fill::distinct)}},
                {{sample_of({4, 3, 5}, Fill::distinct), sample_of({3, 1}, Fill::distinct)}},
                {{sample_of({5}, Fill::distinct), sample_of({}, Fill::distinct)}}};
  return op;
}

constexpr auto larger_of = [](auto a, auto b) { return select_of(b > a || b != b, b, a); };
constexpr auto smaller_of = [](auto a, auto b) { return select_of(b < a || b != b, b, a); };

}  // namespace

std::vector<OpDef> maximum_ops() {
  return {choice_op("maximum", "the larger of a and b, broadcast; equal ones send their gradient to a, NaN wins", true,
                    false, larger_of),
          choice_op("minimum", "the smaller of a and b, broadcast; equal ones send their gradient to a, NaN wins",
                    false, false, smaller_of),
          choice_op("shared_maximum", "the larger of a and b, broadcast; equal ones share their gradient, NaN wins",
                    true, true, larger_of),
          choice_op("shared_minimum", "the smaller of a and b, broadcast; equal ones share their gradient, NaN wins",
                    false, true, smaller_of)};
}

}  // namespace partita
