// The quotient rounded down and the matching remainder: a = floor_div(a, b) * b + remainder(a, b).

#include <limits>

#include "ir/ops/constant.h"
#include "ir/ops/pointwise.h"

namespace partita {
namespace {

/// Returns the exact remainder, with the sign of b; NaN if b is 0.
template <class T>
T float_remainder(T a, T b) {
  const T rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

/// Returns the integer nearest to (a - remainder) / b, which is an integer except for rounding. Returns a / b if b is
/// 0.
template <class T>
T float_floor_div(T a, T b) {
  if (b == 0) return a / b;
  const T rest = std::fmod(a, b);
  const T quotient = std::round((a - rest) / b);
  return rest != 0 && (rest < 0) != (b < 0) ? quotient - 1 : quotient;
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
      const std::array<Shape, 2> strides{broadcast_strides(in[0].type.shape, shape),
                                         broadcast_strides(in[1].type.shape, shape)};
      for_broadcast<2>(shape, strides, [&](int64_t i, const std::array<int64_t, 2>& at) {
        y[i] = Division<kQuotient>()(a[at[0]], b[at[1]]);
      });
    }
  });
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
  op.flops_per_point = 20;
  op.samples = {{{sample_of({4, 6}), sample_of({4, 6}, Fill::positive)}},
                {{sample_of({4, 3, 5}), sample_of({3, 1}, Fill::positive)}},
                {{sample_of({5}), sample_of({}, Fill::positive)}},
                {{ids_of({4, 6}, 9), ids_of({6}, 5)}}};
  return op;
}

OpDef floor_div_op() {
  OpDef op = division_op<true>("floor_div", "the largest integer that is not above a / b, broadcast");
  op.grad = [](const GradCall&) -> std::vector<Value> { return {Value(), Value()}; };
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
