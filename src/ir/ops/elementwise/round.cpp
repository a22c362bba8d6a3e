#include "base/rounding.h"
#include "ir/ops/elementwise/attrs.h"
#include "ir/ops/pointwise.h"
#include "ir/ops/wide.h"

namespace partita {
namespace {

Pointwise round_loops(const RoundAttrs& attrs) {
  if (attrs.dtype == DType::f16) return loops_of([](auto x) { return round_to<kF16>(without_noise(x)); });
  return loops_of([](auto x) { return round_to<kBf16>(without_noise(x)); });
}

/// Returns `with_digits` (base/rounding.h) of any number: of infinity and NaN something that is not used.
Traced emitted_digits(const EmitCall& call, const Traced& x, const Type& type, int digits) {
  const bool is_f64 = type.dtype == DType::f64;
  const Type word{is_f64 ? DType::i64 : DType::i32, type.shape};
  const int64_t dropped = (is_f64 ? 52 : 23) - digits, unit = int64_t{1} << dropped;
  const auto integer = [&](int64_t value) { return call.splat_integer(value, word); };
  const Hlo bits = call.body.add_typed("stablehlo.bitcast_convert", {x.as(call, type)}, "", word);
  const Hlo shifted = call.body.add_same("stablehlo.shift_right_logical", {bits, integer(dropped)});
  const Hlo last = call.body.add_same("stablehlo.and", {shifted, integer(1)});
  const Traced sum = Traced(call, bits) + Traced(call, integer(unit / 2 - 1)) + Traced(call, last);
  const Hlo kept = call.body.add_same("stablehlo.and", {sum.as(call, word), integer(-unit)});
  return {call, call.body.add_typed("stablehlo.bitcast_convert", {kept}, "", type)};
}

/// Returns `round_to` (base/rounding.h). Numbers below the smallest normal one are rounded as whole numbers of units,
/// since compilers may join two sums with constants.
template <HalfFormat kFormat>
Traced emitted_round(const EmitCall& call, const Traced& x, const Type& type) {
  const Traced infinity(call, call.splat(std::numeric_limits<double>::infinity(), type));
  const Traced rounded = emitted_digits(call, x, type, kFormat.digits);
  const Traced limit = power_of_two<double>(kFormat.max_exponent) * 2, size = abs_of(rounded);
  const bool can_exceed = type.dtype == DType::f64 || kFormat.max_exponent < 127;
  const Traced normal = can_exceed ? select_of(size >= limit, select_of(x < 0, -infinity, infinity), rounded) : rounded;
  Traced result = normal;
  if (type.dtype == DType::f64 || kFormat.min_exponent > -126) {
    const int unit = kFormat.min_exponent - kFormat.digits;
    const Hlo units = (x * power_of_two<double>(-unit)).as(call, type);
    const Traced whole(call, call.body.add_same("stablehlo.round_nearest_even", {units}));
    result =
        select_of(abs_of(x) < power_of_two<double>(kFormat.min_exponent), whole * power_of_two<double>(unit), normal);
  }
  return select_of(x == x, select_of(abs_of(x) == infinity, x, result), x);
}

/// f64 is first rounded to the digits that `without_noise` keeps. 16-bit floats are rounded in f32.
std::vector<Hlo> emit_round(const EmitCall& call) {
  const Type& result = call.outputs[0];
  const Type type{wide_type(result.dtype), result.shape};
  Traced x(call, call.convert(call.inputs[0], type.dtype));
  if (type.dtype == DType::f64) {
    const Traced is_finite = abs_of(x) <= std::numeric_limits<double>::max();
    x = select_of(is_finite, emitted_digits(call, x, type, 40), x);
  }
  const bool is_f16 = call.attrs.as<RoundAttrs>().dtype == DType::f16;
  const Traced y = is_f16 ? emitted_round<kF16>(call, x, type) : emitted_round<kBf16>(call, x, type);
  return {call.convert(y.as(call, type), result.dtype)};
}

}  // namespace

std::vector<OpDef> round_ops() {
  OpDef op =
      pointwise_op<RoundAttrs>("round", "x rounded to the digits of a 16-bit float, in the type of x", round_loops);
  op.traits.is_conversion = true;
  const auto infer = op.infer;
  op.infer = [infer](const OpCall& call) {
    const DType dtype = call.attrs.as<RoundAttrs>().dtype;
    if (dtype != DType::bf16 && dtype != DType::f16) {
      reject("round", "not a 16-bit float", std::string(name_of(dtype)), "bf16 or f16");
    }
    return infer(call);
  };
  op.rule = [](const OpCall& call) { return pointwise_rule(call).linear_in({0}, kMaxMin); };
  op.emit = emit_round;
  op.samples = {{{sample_of({4, 6})}}, {{sample_of({5})}, RoundAttrs{DType::f16}}};
  return {op};
}

}  // namespace partita
