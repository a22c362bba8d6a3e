#include "ops/pow.h"

#include "ops/support.h"

namespace partita {
namespace {

std::vector<Value> grad_pow(const GradCall& call) {
  const double exponent = call.attrs.as<PowAttrs>().exponent;
  const Value d = call.d_outputs[0];
  if (exponent == 0) return {Value()};
  if (exponent == 1) return {d};
  const Value power =
      exponent == 2 ? call.inputs[0] : call.apply("pow", {call.inputs[0]}, Attrs(PowAttrs{exponent - 1}));
  return {call.apply("mul", {d, call.builder.apply_fields("scale", {power}, {{"scale", to_text(exponent)}})})};
}

}  // namespace

OpDef pow_op() {
  OpDef op;
  op.name = "pow";
  op.summary = "x to the power of a constant exponent; NaN for negative x and a fractional exponent";
  op.attrs = Attrs(PowAttrs{});
  op.infer = [](const OpCall& call) {
    require_operands("pow", call, 1);
    const double exponent = call.attrs.as<PowAttrs>().exponent;
    if (!std::isfinite(exponent)) reject("pow", "bad exponent", fmt::format("{}", exponent), "a finite number");
    return infer_pointwise_float("pow", call);
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
  op.kernel = [](const Attrs& attrs, Inputs in, Outputs out) {
    const double exponent = attrs.as<PowAttrs>().exponent;
    unary_float_kernel(in, out, [=](auto x) { return static_cast<decltype(x)>(power_of(x, exponent)); });
  };
  op.samples = {{{sample_of({4, 6})}, Attrs(PowAttrs{2})},
                {{sample_of({4, 6}, Fill::positive)}, Attrs(PowAttrs{-1.3})},
                {{sample_of({5})}, Attrs(PowAttrs{3})},
                {{sample_of({5})}, Attrs(PowAttrs{1})},
                {{sample_of({5})}, Attrs(PowAttrs{0})},
                {{sample_of({5})}, Attrs(PowAttrs{-2})},
                {{sample_of({5}, Fill::positive)}, Attrs(PowAttrs{0.5})}};
  return op;
}

}  // namespace partita
