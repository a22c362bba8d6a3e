#include <cmath>

#include "base/number.h"
#include "ir/ops/shape/attrs.h"
#include "ir/ops/sizes.h"
#include "ir/ops/support.h"
#include "ir/sharding/box_runs.h"

namespace partita {
namespace {

void require_representable(const ConstantAttrs& attrs) {
  if (is_float(attrs.dtype)) return;
  for_integer(attrs.dtype, [&](auto zero) {
    using Limits = std::numeric_limits<decltype(zero)>;
    if (attrs.value >= static_cast<double>(Limits::lowest()) && attrs.value < std::ldexp(1.0, Limits::digits)) return;
    reject("constant", "the type does not hold the value", to_text(attrs.value), std::string(name_of(attrs.dtype)));
  });
}

}  // namespace

std::vector<OpDef> constant_ops() {
  OpDef op = new_op("constant", "one value everywhere", {.count = 0}, ConstantAttrs{});
  op.infer = [](const OpCall& call) -> std::vector<Type> {
    const ConstantAttrs& attrs = call.attrs.as<ConstantAttrs>();
    require_shape("constant", attrs.shape);
    require_representable(attrs);
    return {Type{attrs.dtype, attrs.shape}};
  };
  op.rule = [](const OpCall& call) { return pointwise_rule(call); };
  op.localize = localized<ConstantAttrs>(
      [](ConstantAttrs& attrs, const Shard& shard) { attrs.shape = shape_of(shard.outputs[0]); });
  op.grad = no_gradients;
  op.flops_per_point = 0;
  op.emit = [](const EmitCall& call) -> std::vector<Hlo> {
    return {call.splat(call.attrs.as<ConstantAttrs>().value, call.outputs[0])};
  };
  op.traits.take_place = takes_shape<ConstantAttrs>();
  op.kernel = [](const Attrs& attrs, Inputs, Outputs out) {
    for_dtype(out[0].type.dtype, [&](auto zero) {
      using T = decltype(zero);
      std::fill_n(out[0].as<T>(), out[0].type.elements(), convert<T>(attrs.as<ConstantAttrs>().value));
    });
  };
  op.samples = {{{}, ConstantAttrs{1.5, DType::f64, {4, 6}}}, {{}, ConstantAttrs{3, DType::i64, {}}}};
  return {op};
}

}  // namespace partita
