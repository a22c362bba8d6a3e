#include "ir/ops/constant.h"
#include "ir/ops/elementwise/attrs.h"
#include "ir/ops/pointwise.h"

namespace partita {
namespace {

/// Returns the exact power modulo 2^64. A negative exponent gives 1 / base^-exponent without its fraction: 1 or -1 for
/// the bases 1 and -1, else 0.
int64_t integer_power(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    if (base == -1) return exponent % 2 == 0 ? 1 : -1;
    return base == 1 ? 1 : 0;
  }
  uint64_t result = 1;
  for (uint64_t factor = static_cast<uint64_t>(base); exponent > 0; exponent /= 2, factor *= factor) {
    if (exponent % 2 == 1) result *= factor;
  }
  return static_cast<int64_t>(result);
}

/// Returns the gradients, with fixed values where the formulas are 0 times infinity. That of the base is 0 where the
/// exponent is 0; that of the exponent is 0 where the base is 0 and the exponent is at least 0.
std::vector<Value> grad_power(const GradCall& call) {
  const Value base = call.inputs[0], exponent = call.inputs[1], d = call.d_outputs[0];
  const Value zero = constant(call.builder, 0, Type{base.dtype(), {}});
  const Value lower = call.apply("power", {base, call.apply("scale", {exponent}, ScaleAttrs{.bias = -1})});
  const Value slope =
      call.apply("select", {call.apply("equal", {exponent, zero}), zero, call.apply("mul", {exponent, lower})});
  const Value is_zero =
      call.apply("logical_and", {call.apply("equal", {base, zero}), call.apply("greater_equal", {exponent, zero})});
  const Value growth =
      call.apply("select", {is_zero, zero, call.apply("mul", {call.outputs[0], call.apply("log", {base})})});
  return {sum_to(call, call.apply("mul", {d, slope}), base.type()),
          sum_to(call, call.apply("mul", {d, growth}), exponent.type())};
}

}  // namespace

std::vector<OpDef> power_ops() {
  OpDef op = number_op("power", "a to the power of b, broadcast; of integers exact, with fractions dropped",
                       [](auto base, auto exponent) {
                         if constexpr (std::is_integral_v<decltype(base)>) {
                           return integer_power(base, exponent);
                         } else {
                           return pow_of(base, exponent);
                         }
                       });
  op.infer = [infer = op.infer](const OpCall& call) {
    std::vector<Type> result = infer(call);
    require_number("power", result[0]);
    return result;
  };
  op.grad = grad_power;
  op.flops_per_point = 20;
  op.samples = {{{sample_of({4, 6}, Fill::positive), sample_of({4, 6})}},
                {{sample_of({4, 3, 5}, Fill::positive), sample_of({3, 1})}},
                {{sample_of({}, Fill::positive), sample_of({5})}},
                {{ids_of({4, 6}, 5), ids_of({6}, 5)}}};
  return {op};
}

}  // namespace partita
