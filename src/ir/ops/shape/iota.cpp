#include <limits>

#include "base/number.h"
#include "ir/ops/shape/attrs.h"
#include "ir/ops/sizes.h"
#include "ir/ops/support.h"
#include "ir/sharding/box_runs.h"

namespace partita {
namespace {

void require_numbers(const IotaAttrs& attrs, int64_t count) {
  bool fits = attrs.begin <= std::numeric_limits<int64_t>::max() - count;
  if (fits && count > 0 && !is_float(attrs.dtype)) {
    for_integer(attrs.dtype, [&](auto zero) {
      using Limits = std::numeric_limits<decltype(zero)>;
      const auto most = static_cast<int64_t>(Limits::max());
      fits = attrs.begin >= static_cast<int64_t>(Limits::min()) && attrs.begin + count - 1 <= most;
    });
  }
  if (fits) return;
  reject("iota", "numbers outside the element type", fmt::format("{} numbers from {}", count, attrs.begin),
         fmt::format("numbers that {} holds", name_of(attrs.dtype)));
}

}  // namespace

std::vector<OpDef> iota_ops() {
  OpDef op = new_op("iota", "begin, begin + 1, ... along an axis", {.count = 0}, IotaAttrs{});
  op.infer = [](const OpCall& call) -> std::vector<Type> {
    const IotaAttrs& attrs = call.attrs.as<IotaAttrs>();
    const int rank = static_cast<int>(attrs.shape.size());
    if (attrs.axis < 0 || attrs.axis >= rank) {
      reject("iota", "axis is outside the shape", fmt::format("{}", attrs.axis), fmt::format("0 to {}", rank - 1));
    }
    require_shape("iota", attrs.shape);
    require_numbers(attrs, attrs.shape[attrs.axis]);
    return {Type{attrs.dtype, attrs.shape}};
  };
  op.rule = [](const OpCall& call) { return pointwise_rule(call); };
  op.localize = localized<IotaAttrs>([](IotaAttrs& attrs, const Shard& shard) {
    attrs.begin += shard.outputs[0][attrs.axis].begin;
    attrs.shape = shape_of(shard.outputs[0]);
  });
  op.grad = no_gradients;
  op.flops_per_point = 0;
  op.emit = [](const EmitCall& call) -> std::vector<Hlo> {
    const IotaAttrs& attrs = call.attrs.as<IotaAttrs>();
    const Type& type = call.outputs[0];
    const Hlo steps = call.body.add(fmt::format("stablehlo.iota dim = {} : {}", attrs.axis, hlo_type(type)), type);
    if (call.begins_at_0(attrs.begin)) return {steps};
    return {call.body.add_same("stablehlo.add", {steps, call.begin(attrs.begin, type)})};
  };
  op.traits.take_place = takes_begin(&IotaAttrs::shape);
  op.kernel = [](const Attrs& all, Inputs, Outputs out) {
    const IotaAttrs& attrs = all.as<IotaAttrs>();
    const int64_t size = attrs.shape[attrs.axis], stride = strides_of(attrs.shape)[attrs.axis];
    for_dtype(out[0].type.dtype, [&](auto zero) {
      using T = decltype(zero);
      T* y = out[0].as<T>();
      for (int64_t i = 0; i < out[0].type.elements(); ++i) y[i] = convert<T>(attrs.begin + i / stride % size);
    });
  };
  op.samples = {{{}, IotaAttrs{1, 0, DType::f64, {4, 6}}}, {{}, IotaAttrs{0, 2, DType::i64, {5}}}};
  return {op};
}

}  // namespace partita
