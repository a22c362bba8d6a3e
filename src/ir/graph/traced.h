#pragma once
// A number that writes what is computed with it: a formula of numbers, called with it, becomes StableHLO.

#include <limits>

#include "ir/graph/emit_call.h"

namespace partita {

/// An array of a formula, or a constant that has no type until it meets an array. All arrays of one formula have one
/// shape.
class Traced {
 public:
  Traced(double constant) : constant_(constant) {}  // NOLINT: constants of formulas are numbers
  Traced(const EmitCall& call, Hlo value) : Traced(call, value.type.dtype, value) {}

  /// Returns the array; a constant becomes one of the type of `like`.
  Hlo as(const EmitCall& call, const Type& like) const {
    return call_ != nullptr ? value_ : call.splat(constant_, like);
  }

  friend Traced operator+(const Traced& a, const Traced& b) {
    return same("stablehlo.add", a, b, a.constant_ + b.constant_);
  }
  friend Traced operator-(const Traced& a, const Traced& b) {
    return same("stablehlo.subtract", a, b, a.constant_ - b.constant_);
  }
  friend Traced operator*(const Traced& a, const Traced& b) {
    return same("stablehlo.multiply", a, b, a.constant_ * b.constant_);
  }
  friend Traced operator/(const Traced& a, const Traced& b) {
    return same("stablehlo.divide", a, b, a.constant_ / b.constant_);
  }
  Traced& operator+=(const Traced& other) { return *this = *this + other; }
  friend Traced operator-(const Traced& x) {
    return x.call_ == nullptr ? Traced(-x.constant_) : x.unary("stablehlo.negate");
  }
  friend Traced operator==(const Traced& a, const Traced& b) { return compared("EQ", a, b); }
  friend Traced operator!=(const Traced& a, const Traced& b) { return compared("NE", a, b); }
  friend Traced operator<(const Traced& a, const Traced& b) { return compared("LT", a, b); }
  friend Traced operator<=(const Traced& a, const Traced& b) { return compared("LE", a, b); }
  friend Traced operator>(const Traced& a, const Traced& b) { return compared("GT", a, b); }
  friend Traced operator>=(const Traced& a, const Traced& b) { return compared("GE", a, b); }
  friend Traced operator||(const Traced& a, const Traced& b) { return same("stablehlo.or", a, b, 0); }
  friend Traced operator&&(const Traced& a, const Traced& b) { return same("stablehlo.and", a, b, 0); }

  friend Traced exp_of(const Traced& x) { return x.unary("stablehlo.exponential"); }
  friend Traced tanh_of(const Traced& x) { return x.unary("stablehlo.tanh"); }
  friend Traced log_of(const Traced& x) { return x.unary("stablehlo.log"); }
  friend Traced log1p_of(const Traced& x) { return x.unary("stablehlo.log_plus_one"); }
  friend Traced sqrt_of(const Traced& x) { return x.unary("stablehlo.sqrt"); }
  friend Traced abs_of(const Traced& x) { return x.unary("stablehlo.abs"); }
  friend Traced erf_of(const Traced& x) { return x.chlo("chlo.erf"); }
  friend Traced erfc_of(const Traced& x) { return x.chlo("chlo.erfc"); }
  friend Traced erfinv_of(const Traced& x) { return x.chlo("chlo.erf_inv"); }
  friend Traced sin_of(const Traced& x) { return x.unary("stablehlo.sine"); }
  friend Traced cos_of(const Traced& x) { return x.unary("stablehlo.cosine"); }
  friend Traced tan_of(const Traced& x) { return x.chlo("chlo.tan"); }
  friend Traced asin_of(const Traced& x) { return x.chlo("chlo.asin"); }
  friend Traced acos_of(const Traced& x) { return x.chlo("chlo.acos"); }
  friend Traced atan_of(const Traced& x) { return x.chlo("chlo.atan"); }
  /// Both are made larger where they are small, since the target may divide by what it takes as 0.
  friend Traced atan2_of(const Traced& y, const Traced& x) {
    const Traced factor = select_of(max_of(abs_of(y), abs_of(x)) < 1e-30, 0x1p60, 1.0);
    return same("stablehlo.atan2", y * factor, x * factor, 0);
  }
  friend Traced sinh_of(const Traced& x) { return x.chlo("chlo.sinh"); }
  friend Traced cosh_of(const Traced& x) { return x.chlo("chlo.cosh"); }
  friend Traced asinh_of(const Traced& x) { return x.chlo("chlo.asinh"); }
  friend Traced acosh_of(const Traced& x) { return x.chlo("chlo.acosh"); }
  friend Traced atanh_of(const Traced& x) { return x.chlo("chlo.atanh"); }
  friend Traced expm1_of(const Traced& x) { return x.unary("stablehlo.exponential_minus_one"); }
  friend Traced log_plus_one_of(const Traced& x) { return x.unary("stablehlo.log_plus_one"); }
  friend Traced lgamma_of(const Traced& x) { return x.chlo("chlo.lgamma"); }
  /// The target has NaN at 0.
  friend Traced digamma_of(const Traced& x) { return select_of(x == 0, -1 / x, x.chlo("chlo.digamma")); }
  /// The target has other numbers at the infinities.
  friend Traced polygamma_of(int order, const Traced& x) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const Traced at_infinity = select_of(x > 0, order % 2 == 1 ? 0.0 : -0.0, std::numeric_limits<double>::quiet_NaN());
    return select_of(abs_of(x) == kInfinity, at_infinity, x.chlo("chlo.polygamma", order));
  }
  friend Traced normal_cdf(const Traced& x) { return 0.5 * (x * -0.70710678118654752).chlo("chlo.erfc"); }
  friend Traced max_of(const Traced& a, const Traced& b) { return same("stablehlo.maximum", a, b, 0); }
  friend Traced min_of(const Traced& a, const Traced& b) { return same("stablehlo.minimum", a, b, 0); }
  friend Traced pow_of(const Traced& x, const Traced& exponent) { return same("stablehlo.power", x, exponent, 0); }
  friend Traced power_of(const Traced& x, double exponent) { return pow_of(x, exponent); }
  friend Traced select_of(const Traced& condition, const Traced& a, const Traced& b) {
    const EmitCall& call = *condition.call_;
    const DType dtype = a.call_ != nullptr ? a.dtype_ : b.call_ != nullptr ? b.dtype_ : condition.dtype_;
    const Type like{dtype, condition.value_.type.shape};
    return {call, call.select(condition.value_, a.as(call, like), b.as(call, like))};
  }

 private:
  Traced(const EmitCall& call, DType dtype, Hlo value) : call_(&call), dtype_(dtype), value_(std::move(value)) {}

  Traced unary(std::string_view op) const { return {*call_, call_->body.add_same(op, {value_})}; }
  /// Applies an operation of the dialect CHLO, in whose text operands have no parentheses.
  Traced chlo(std::string_view op) const {
    const std::string type = hlo_type(value_.type);
    return {*call_, call_->body.add(fmt::format("{} {} : {} -> {}", op, value_.name, type, type), value_.type)};
  }
  /// Applies an operation of CHLO to a number and the array.
  Traced chlo(std::string_view op, double first) const {
    const std::string type = hlo_type(value_.type);
    const Hlo number = call_->splat(first, value_.type);
    return {*call_,
            call_->body.add(fmt::format("{} {}, {} : {}, {} -> {}", op, number.name, value_.name, type, type, type),
                            value_.type)};
  }
  /// Applies `op` to two operands of one type; `folded` is the result for two constants.
  static Traced same(std::string_view op, const Traced& a, const Traced& b, double folded) {
    const Traced& array = a.call_ != nullptr ? a : b;
    if (array.call_ == nullptr) return folded;
    const EmitCall& call = *array.call_;
    return {call, array.dtype_, call.body.add_same(op, {a.as(call, array.value_.type), b.as(call, array.value_.type)})};
  }
  static Traced compared(std::string_view direction, const Traced& a, const Traced& b) {
    const Traced& array = a.call_ != nullptr ? a : b;
    const EmitCall& call = *array.call_;
    return {call, array.dtype_, call.compare(direction, a.as(call, array.value_.type), b.as(call, array.value_.type))};
  }

  const EmitCall* call_ = nullptr;  // null: a constant
  DType dtype_ = DType::f64;        // type of an array, or of the numbers that a condition compares
  Hlo value_;
  double constant_ = 0;
};

}  // namespace partita
