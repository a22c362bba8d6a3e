#include "ir/ops/elementwise/attrs.h"
#include "ir/ops/pointwise.h"

namespace partita {
namespace {

double power_of(double x, double exponent) { return std::pow(x, exponent); }
float power_of(float x, double exponent) { return static_cast<float>(std::pow(static_cast<double>(x), exponent)); }

/// Returns the loops that raise elements to the exponent. Exponents that networks use have formulas of their own, which
/// vectorize. -0 to the power of 0.5 is 0 and to the power of -0.5 is infinite, as for std::pow. Those of a square root
/// give NaN for -infinity, where std::pow has infinity or 0, as it does for all other fractions.
Pointwise power_formula(const PowAttrs& attrs) {
  const double exponent = attrs.exponent;
  if (exponent == -2) return formula([](auto x) { return (1 / x) * (1 / x); });
  if (exponent == -1) return formula([](auto x) { return 1 / x; });
  if (exponent == -0.5) return formula([](auto x) { return 1 / abs_of(sqrt_of(x)); });
  if (exponent == 0.5) return formula([](auto x) { return abs_of(sqrt_of(x)); });
  if (exponent == 1) return formula([](auto x) { return x; });
  if (exponent == 1.5) return formula([](auto x) { return x * sqrt_of(x); });
  if (exponent == 2) return formula([](auto x) { return x * x; });
  if (exponent == 3) return formula([](auto x) { return x * x * x; });
  if (exponent == 4) return formula([](auto x) { return (x * x) * (x * x); });
  return formula([=](auto x) { return power_of(x, exponent); });
}

std::vector<Value> grad_pow(const GradCall& call) {
  const double exponent = call.attrs.as<PowAttrs>().exponent;
  const Value d = call.d_outputs[0];
  if (exponent == 0) return {Value()};
  if (exponent == 1) return {d};
  const Value power = exponent == 2 ? call.inputs[0] : call.apply("pow", {call.inputs[0]}, PowAttrs{exponent - 1});
  return {call.apply("mul", {d, call.apply("scale", {power}, ScaleAttrs{.scale = exponent})})};
}

}  // namespace

std::vector<OpDef> pow_ops() {
  OpDef op = pointwise_op<PowAttrs>(
      "pow", "x to the power of a constant exponent; NaN for negative x and a fractional exponent", power_formula);
  op.infer = [infer = op.infer](const OpCall& call) {
    const double exponent = call.attrs.as<PowAttrs>().exponent;
    if (!std::isfinite(exponent)) reject("pow", "bad exponent", fmt::format("{}", exponent), "a finite number");
    return infer(call);
  };
  op.rule = [](const OpCall& call) {
    const double exponent = call.attrs.as<PowAttrs>().exponent;
    ShardingRule rule = pointwise_rule(call);
    if (exponent == 1) return rule.linear_in({0}, kAnyReduce);
    const bool rises = std::fmod(exponent, 2) == 1;  // odd and positive
    return rises ? rule.linear_in({0}, kMaxMin) : rule;
  };
  op.grad = grad_pow;
  op.flops_per_point = 20;
  op.samples = {{{sample_of({4, 6})}, PowAttrs{2}},
                {{sample_of({4, 6}, Fill::positive)}, PowAttrs{-1.3}},
                {{sample_of({5})}, PowAttrs{3}},
                {{sample_of({5})}, PowAttrs{1}},
                {{sample_of({5})}, PowAttrs{0}},
                {{sample_of({5})}, PowAttrs{-2}},
                {{sample_of({5}, Fill::positive)}, PowAttrs{0.5}}};
  return {op};
}

}  // namespace partita
