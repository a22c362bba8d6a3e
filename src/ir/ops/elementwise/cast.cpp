#include <bit>

#include "base/convert_elements.h"
#include "ir/ops/elementwise/attrs.h"
#include "ir/ops/support.h"

namespace partita {

namespace {

/// Returns the smallest and the largest number of an integer type.
std::pair<int64_t, int64_t> range_of(DType dtype) {
  std::pair<int64_t, int64_t> range;
  for_integer(dtype, [&](auto zero) {
    using Limits = std::numeric_limits<decltype(zero)>;
    range = {static_cast<int64_t>(Limits::lowest()), static_cast<int64_t>(Limits::max())};
  });
  return range;
}

/// Returns the nearest number of an integer type, 0 for NaN.
Hlo nearest_integer(const EmitCall& call, Hlo x, DType to) {
  const auto [lowest, highest] = range_of(to);
  if (!is_float(x.type.dtype)) {
    const auto [own_lowest, own_highest] = range_of(x.type.dtype);
    if (own_lowest < lowest) x = call.body.add_same("stablehlo.maximum", {x, call.splat_integer(lowest, x.type)});
    if (own_highest > highest) x = call.body.add_same("stablehlo.minimum", {x, call.splat_integer(highest, x.type)});
    return call.convert(x, to);
  }
  if (is_half(x.type.dtype)) x = call.convert(x, DType::f32);  // f16 has no number as large as the bounds
  const Type type{to, x.type.shape};
  Hlo y = call.convert(x, to);
  const auto replace = [&](std::string_view direction, const Hlo& bound, int64_t value) {
    y = call.select(call.compare(direction, x, bound), call.splat_integer(value, type), y);
  };
  // One more than the highest is a power of two, and so a float.
  replace("GE", call.splat(std::ldexp(1.0, std::bit_width(static_cast<uint64_t>(highest))), x.type), highest);
  replace("LT", call.splat(static_cast<double>(lowest), x.type), lowest);
  replace("NE", x, 0);
  return y;
}

/// Returns a number of f64 in f32, from which it rounds to 16 bits as it would by itself: cut off, with an odd last
/// digit if something was cut off. Compilers cast to 16 bits by way of f32, which would round twice.
Hlo rounded_to_odd(const EmitCall& call, const Hlo& x) {
  const Hlo near = call.convert(x, DType::f32);
  const Traced exact(call, x), back(call, call.convert(near, DType::f64));
  const Type word{DType::i32, x.type.shape};
  const auto integer = [&](int64_t value) { return Traced(call, call.splat_integer(value, word)); };
  const Traced bits(call, call.body.add_typed("stablehlo.bitcast_convert", {near}, "", word));
  const Traced cut = select_of(abs_of(back) > abs_of(exact), bits - integer(1), bits);
  const Hlo odd = call.body.add_same("stablehlo.or", {cut.as(call, word), integer(1).as(call, word)});
  const Traced is_cut = exact == exact && back != exact;
  const Hlo chosen = select_of(is_cut, Traced(call, odd), bits).as(call, word);
  return call.body.add_typed("stablehlo.bitcast_convert", {chosen}, "", near.type);
}

/// Returns integers that f32 holds, and that round to 16 bits as these do: the digits that f32 lacks are replaced by
/// one that says whether any of them is set. Each pass makes integers below 2^(23 + digits) fit.
Hlo rounded_to_sticky(const EmitCall& call, Hlo x) {
  const auto [lowest, highest] = range_of(x.type.dtype);
  const auto number = [&](int64_t value) { return call.splat_integer(value, x.type); };
  int width = 24;
  for (const int digits : {11, 22, 33, 44}) {
    const int64_t beyond = int64_t{1} << width, lacking = (int64_t{1} << digits) - 1, sticky = (lacking + 1) / 2;
    if (beyond > highest) break;
    const Hlo rest = call.body.add_same("stablehlo.and", {x, number(lacking)});
    const Hlo digit = call.select(call.compare("NE", rest, number(0)), number(sticky), number(0));
    const Hlo kept = call.body.add_same("stablehlo.subtract", {x, rest});
    const Hlo cut = call.body.add_same("stablehlo.or", {kept, digit});
    Hlo chosen = call.select(call.compare("GE", x, number(beyond)), cut, x);
    if (lowest < 0) chosen = call.select(call.compare("LT", x, number(-beyond)), cut, chosen);
    x = chosen;
    width = 23 + digits;  // all digits from that of `sticky` on
  }
  return x;
}

/// Returns a number of a wider type or an integer in 16 bits, rounded once.
Hlo rounded_once(const EmitCall& call, const Hlo& x, DType to) {
  if (x.type.dtype == DType::f64) return call.convert(rounded_to_odd(call, x), to);
  if (is_float(x.type.dtype) || x.type.dtype == DType::boolean) return call.convert(x, to);
  return call.convert(call.convert(rounded_to_sticky(call, x), DType::f32), to);
}

}  // namespace

std::vector<OpDef> cast_ops() {
  OpDef op = new_op("cast", "the same values in another element type; integers clamp, NaN becomes their 0",
                    {.count = 1}, CastAttrs{});
  op.infer = [](const OpCall& call) -> std::vector<Type> {
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
    return {call.apply("cast", {call.d_outputs[0]}, CastAttrs{call.inputs[0].dtype()})};
  };
  op.flops_per_point = 0;
  op.emit = [](const EmitCall& call) -> std::vector<Hlo> {
    const DType from = call.inputs[0].type.dtype, to = call.outputs[0].dtype;
    const bool clamps = !is_float(to) && to != DType::boolean && from != DType::boolean;
    if (is_half(to)) return {rounded_once(call, call.inputs[0], to)};
    return {clamps ? nearest_integer(call, call.inputs[0], to) : call.convert(call.inputs[0], to)};
  };
  op.kernel = [](const Attrs&, Inputs in, Outputs out) {
    convert_elements(in[0].type.dtype, in[0].data, out[0].type.dtype, out[0].data, out[0].type.elements());
  };
  op.traits = {.moves_elements = true, .is_conversion = true, .degree = degree_of_first};
  op.samples = {{{sample_of({4, 6})}, CastAttrs{DType::f64}},
                {{ids_of({5}, 7)}, CastAttrs{DType::f64}},
                {{sample_of({6})}, CastAttrs{DType::i32}}};
  return {op};
}

}  // namespace partita
