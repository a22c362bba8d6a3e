#include "base/number.h"
#include "ir/ops/elementwise/attrs.h"
#include "ir/ops/support.h"

namespace partita {

std::vector<OpDef> cast_ops() {
  OpDef op;
  op.name = "cast";
  op.summary = "the same values in another element type; integers clamp, NaN becomes their 0";
  op.attrs = Attrs(CastAttrs{});
  op.infer = [](const OpCall& call) -> std::vector<Type> {
    require_operands("cast", call, 1);
    return {Type{call.attrs.as<CastAttrs>().dtype, call.inputs[0].shape}};
  };
  op.rule = [](const OpCall& call) {
    ShardingRule rule = pointwise_rule(call);
    const DType from = call.inputs[0].dtype, to = call.attrs.as<CastAttrs>().dtype;
    if (!is_float(from) || !is_float(to)) return rule;
    // A cast to fewer digits keeps the order of numbers, but the sum of rounded parts is not the rounded sum.
    return holds_all_of(to, from) ? rule.linear_in({0}, kAnyReduce) : rule.linear_in({0}, kMaxMin);
  };
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    if (!is_float(call.inputs[0].dtype())) return {Value()};
    return {call.apply("cast", {call.d_outputs[0]}, Attrs(CastAttrs{call.inputs[0].dtype()}))};
  };
  op.flops_per_point = 0;
  op.kernel = [](const Attrs&, Inputs in, Outputs out) {
    for_dtype(in[0].type.dtype, [&](auto from) {
      for_dtype(out[0].type.dtype, [&](auto to) {
        using From = decltype(from);
        using To = decltype(to);
        const From* x = in[0].as<From>();
        To* y = out[0].as<To>();
        const int64_t count = out[0].type.elements();
        for (int64_t i = 0; i < count; ++i) y[i] = convert<To>(x[i]);
      });
    });
  };
  op.traits = {.moves_elements = true, .is_conversion = true, .degree = degree_of_first};
  op.samples = {{{sample_of({4, 6})}, Attrs(CastAttrs{DType::f64})},
                {{ids_of({5}, 7)}, Attrs(CastAttrs{DType::f64})},
                {{sample_of({6})}, Attrs(CastAttrs{DType::i32})}};
  return {op};
}

}  // namespace partita
