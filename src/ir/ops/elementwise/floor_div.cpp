// The quotient rounded down and the matching remainder: a = floor_div(a, b) * b + remainder(a, b).

#include <limits>

#include "ir/ops/pointwise.h"
#include "ir/ops/wide.h"

namespace partita {
namespace {

// Both are computed as NumPy does, so that they have its last digit and its signs of zero.

/// Whether a remainder of C is on the other side of 0 than b, so the quotient is one too large.
template <class T>
bool is_other_side(T rest, T b) {
  return rest != 0 && (rest < 0) != (b < 0);
}

/// Returns the exact remainder, with the sign of b; NaN if b is 0.
template <class T>
T float_remainder(T a, T b) {
  const T rest = std::fmod(a, b);
  return rest == 0 ? std::copysign(T(0), b) : is_other_side(rest, b) ? rest + b : rest;
}

/// Returns the integer nearest to (a - remainder) / b, which is an integer except for rounding. Returns a / b if b is
/// 0.
template <class T>
T float_floor_div(T a, T b) {
  if (b == 0) return a / b;
  const T rest = std::fmod(a, b);
  const T quotient = (a - rest) / b - (is_other_side(rest, b) ? 1 : 0);
  if (quotient == 0) return std::copysign(T(0), a / b);
  const T whole = std::floor(quotient);
  return quotient - whole > T(0.5) ? whole + 1 : whole;
}

/// Returns the remainder, with the sign of b; a if b is 0. The case b = -1 is separate, since dividing the smallest
/// integer by -1 traps.
template <class T>
T integer_remainder(T a, T b) {
  if (b == 0) return a;
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return 0;
    const T rest = static_cast<T>(a % b);
    return rest != 0 && (rest < 0) != (b < 0) ? static_cast<T>(rest + b) : rest;
  } else {
    return static_cast<T>(a % b);
  }
}

/// Returns the quotient, rounded down; that of the smallest integer and -1 wraps around. If b is 0: 0 for a = 0, else
/// the largest or the smallest number of the type, with the sign of a.
template <class T>
T integer_floor_div(T a, T b) {
  using Range = std::numeric_limits<T>;
  if (b == 0) return a == 0 ? T{0} : a > 0 ? Range::max() : Range::min();
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(a));
    const T rest = static_cast<T>(a % b);
    return static_cast<T>(a / b - (rest != 0 && (rest < 0) != (b < 0) ? 1 : 0));
  } else {
    return static_cast<T>(a / b);
  }
}

/// The quotient or the remainder of two numbers of one type.
template <bool kQuotient>
struct Division {
  template <class T>
  requires std::is_arithmetic_v<T> T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      return kQuotient ? integer_floor_div(a, b) : integer_remainder(a, b);
    } else {
      return kQuotient ? float_floor_div(a, b) : float_remainder(a, b);
    }
  }
};

/// Writes the quotients or remainders of integers, computed in their own type, since each type has a different largest
/// number. Does nothing for bools.
template <bool kQuotient>
void divide_integers(Inputs in, const Tensor& out) {
  for_integer(out.type.dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!std::is_same_v<T, bool>) {
      const T *a = in[0].as<T>(), *b = in[1].as<T>();
      T* y = out.as<T>();
      const Shape& shape = out.type.shape;
      for_broadcast<2>(shape, broadcast_strides<2>(in, shape), [&](int64_t i, const std::array<int64_t, 2>& at) {
        y[i] = Division<kQuotient>()(a[at[0]], b[at[1]]);
      });
    }
  });
}

/// The quotient and the remainder of the target, which are those of C, rounded down.
struct EmittedDivision {
  const EmitCall& call;
  Traced a, b;
  Type type;

  Traced apply(const char* op, const Traced& x, const Traced& y) const {
    return {call, call.body.add_same(op, {x.as(call, type), y.as(call, type)})};
  }
  Traced integer(int64_t value) const { return {call, call.splat_integer(value, type)}; }
  /// Returns where a remainder that is not 0 has another sign than b.
  Traced is_other_side(const Traced& rest) const {
    const Traced differs = (rest < 0) != (b < 0), is_rest = rest != 0;
    const Hlo one = is_rest.as(call, type);
    return {call, call.body.add_same("stablehlo.and", {one, differs.as(call, one.type)})};
  }

  Traced float_remainder() const {
    const Traced rest = apply("stablehlo.remainder", a, b), zero = select_of(b < 0, -0.0, 0.0);
    return select_of(rest == 0, zero, select_of(is_other_side(rest), rest + b, rest));
  }
  Traced float_quotient() const {
    const Traced rest = apply("stablehlo.remainder", a, b), ratio = a / b, near = (a - rest) / b;
    const Traced quotient = select_of(is_other_side(rest), near - 1, near);
    const Traced whole(call, call.body.add_same("stablehlo.floor", {quotient.as(call, type)}));
    const Traced nearest = select_of(quotient - whole > 0.5, whole + 1, whole);
    const Traced zero = select_of(ratio < 0, -0.0, select_of(ratio == 0, ratio, 0.0));
    return select_of(b == 0, ratio, select_of(quotient == 0, zero, nearest));
  }
  /// Divides by 1 in place of 0. That -1 makes the smallest integer wrap around is as the target defines it.
  Traced integer_result(bool is_quotient, bool is_signed, int64_t least, int64_t largest) const {
    const Traced zero = b == 0, divisor = select_of(zero, integer(1), b);
    const Traced rest = apply("stablehlo.remainder", a, divisor);
    const Traced is_below = is_signed ? is_other_side(rest) : zero;
    if (!is_quotient) return select_of(zero, a, is_signed ? select_of(is_below, rest + b, rest) : rest);
    const Traced quotient = a / divisor;
    const Traced edge = select_of(a == 0, integer(0), select_of(a < 0, integer(least), integer(largest)));
    return select_of(zero, edge, is_signed ? select_of(is_below, quotient - 1, quotient) : quotient);
  }
};

/// 16-bit floats are divided in f32.
template <bool kQuotient>
std::vector<Hlo> emit_division(const EmitCall& call) {
  const Type& result = call.outputs[0];
  const Type type{is_float(result.dtype) ? wide_type(result.dtype) : result.dtype, result.shape};
  const auto operand = [&](const Hlo& x) {
    return Traced(call, call.convert(call.broadcast(x, result.shape), type.dtype));
  };
  const EmittedDivision division{call, operand(call.inputs[0]), operand(call.inputs[1]), type};
  Hlo y;
  if (is_float(result.dtype)) {
    y = (kQuotient ? division.float_quotient() : division.float_remainder()).as(call, type);
  } else {
    for_integer(result.dtype, [&](auto zero) {
      using Range = std::numeric_limits<decltype(zero)>;
      const auto least = static_cast<int64_t>(Range::min()), largest = static_cast<int64_t>(Range::max());
      y = division.integer_result(kQuotient, Range::is_signed, least, largest).as(call, type);
    });
  }
  return {call.convert(y, result.dtype)};
}

template <bool kQuotient>
OpDef division_op(const char* name, const char* summary) {
  OpDef op = number_op(name, summary, Division<kQuotient>());
  op.infer = [name, infer = op.infer](const OpCall& call) {
    std::vector<Type> result = infer(call);
    require_number(name, result[0]);
    return result;
  };
  op.kernel = [floats = op.kernel](const Attrs& attrs, Inputs in, Outputs out) {
    is_float(out[0].type.dtype) ? floats(attrs, in, out) : divide_integers<kQuotient>(in, out[0]);
  };
  op.emit = emit_division<kQuotient>;
  op.flops_per_point = 20;
  op.samples = {{{sample_of({4, 6}), sample_of({4, 6}, Fill::positive)}},
                {{sample_of({4, 3, 5}), sample_of({3, 1}, Fill::positive)}},
                {{sample_of({5}), sample_of({}, Fill::positive)}},
                {{ids_of({4, 6}, 9), ids_of({6}, 5)}}};
  return op;
}

OpDef floor_div_op() {
  OpDef op = division_op<true>("floor_div", "the largest integer that is not above a / b, broadcast");
  op.grad = no_gradients;
  return op;
}

OpDef remainder_op() {
  OpDef op = division_op<false>("remainder", "a - floor_div(a, b) * b, broadcast: with the sign of b");
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    const Value a = call.inputs[0], b = call.inputs[1], d = call.d_outputs[0];
    const Value d_b = call.apply("neg", {call.apply("mul", {d, call.apply("floor_div", {a, b})})});
    return {sum_to(call, d, a.type()), sum_to(call, d_b, b.type())};
  };
  return op;
}

}  // namespace

std::vector<OpDef> floor_div_ops() { return {floor_div_op(), remainder_op()}; }

}  // namespace partita
