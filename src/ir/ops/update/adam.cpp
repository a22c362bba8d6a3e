#include <cmath>

#include "ir/ops/emission.h"
#include "ir/ops/support.h"
#include "ir/ops/update/updates.h"
#include "ir/ops/wide.h"

namespace partita {
namespace {

/// Computes the constants of the step in f64, as the kernels do.
std::vector<Hlo> emit_adam(const EmitCall& call) {
  const Type& type = call.outputs[0];
  const Traced given(call, call.convert(call.inputs[4], DType::f64));
  const Traced terms = Traced(call, call.convert(call.inputs[5], DType::f64)) + 1;
  const auto cast = [&](const Traced& value) {
    const Hlo scalar = call.convert(value.as(call, {DType::f64, {}}), computed_type(type.dtype));
    return Traced(call, call.broadcast(scalar, type.shape));
  };
  const AdamStep<Traced> step(call.attrs.as<AdamAttrs>(), given, terms, cast);
  const auto operand = [&](size_t k) { return computed_operand(call, call.inputs[k]); };
  Traced w = operand(0), m = operand(2), v = operand(3);
  step.apply(operand(1), w, m, v);
  return {rounded_result(call, w, type), rounded_result(call, m, type), rounded_result(call, v, type)};
}

}  // namespace

std::vector<OpDef> adam_ops() {
  OpDef op;
  op.name = "adam";
  op.summary =
      "(w, g, m, v, rate, step): m and v average g and g^2, w -= rate m' / (sqrt(v') + epsilon), m' and v' without "
      "the bias of step + 1 terms; the decay is of w when decoupled, of g otherwise; biased_epsilon adds "
      "epsilon to sqrt(v) before the bias is taken out";
  op.attrs = Attrs(AdamAttrs{});
  op.infer = [](const OpCall& call) -> std::vector<Type> {
    require_operands("adam", call, 6);
    require_float("adam", call);
    const Type& w = call.inputs[0];
    const std::vector<Type> expected{w, w, w, w, {w.dtype, {}}, {DType::i64, {}}};
    if (call.inputs != expected) reject("adam", "operands do not fit", print(call.inputs), print(expected));
    const AdamAttrs& attrs = call.attrs.as<AdamAttrs>();
    const auto is_rate = [](double value) { return value >= 0 && value < 1; };
    if (!is_rate(attrs.beta1) || !is_rate(attrs.beta2) || !(attrs.epsilon > 0)) {
      reject("adam", "bad attributes", call.attrs.print(), "betas from 0 to below 1 and a positive epsilon");
    }
    return {w, w, w};
  };
  op.rule = [](const OpCall& call) { return pointwise_rule(call); };
  op.flops_per_point = 14;
  op.kernel = [](const Attrs& all, Inputs in, Outputs out) {
    const AdamAttrs& attrs = all.as<AdamAttrs>();
    for_float(in[0].type.dtype, [&](auto zero) {
      using T = decltype(zero);
      using Number = std::conditional_t<std::is_same_v<T, double>, double, float>;
      const auto at = [&](size_t operand, int64_t i) { return static_cast<Number>(in[operand].as<T>()[i]); };
      const AdamStep<Number> step(attrs, static_cast<Number>(*in[4].as<T>()), *in[5].as<int64_t>());
      for (int64_t i = 0; i < in[0].type.elements(); ++i) {
        Number w = at(0, i), m = at(2, i), v = at(3, i);
        step.apply(at(1, i), w, m, v);
        out[0].as<T>()[i] = T(w);
        out[1].as<T>()[i] = T(m);
        out[2].as<T>()[i] = T(v);
      }
    });
  };
  op.emit = emit_adam;
  const std::vector<SampleInput> operands{sample_of({4, 6}),
                                          sample_of({4, 6}),
                                          sample_of({4, 6}),
                                          sample_of({4, 6}, Fill::positive),
                                          sample_of({}, Fill::positive),
                                          {Type{DType::i64, {}}, {Fill::ids, 9}}};
  op.samples = {{operands, Attrs(AdamAttrs{})},
                {operands, Attrs(AdamAttrs{0.8, 0.95, 1e-6, 0.1, true})},
                {operands, Attrs(AdamAttrs{0.9, 0.99, 1e-6, 0.1, false})},
                {operands, Attrs(AdamAttrs{.epsilon = 1e-3, .biased_epsilon = true})}};
  return {op};
}

}  // namespace partita
