#pragma once
// Formulas of updates that are composed of ops: each operation appends a node. An operand that is computed appends its
// nodes first, and C++ does not say which of two operands that is: give computed ones names, where their order counts.

#include <numeric>

#include "ir/ops/constant.h"
#include "ir/ops/elementwise/attrs.h"
#include "ir/ops/reduce/attrs.h"
#include "ir/optimizers/optimizer_def.h"

namespace partita {

/// A value in a formula.
struct Term {
  Value value;

  Term(Value value) : value(value) {}  // NOLINT: values are terms
  operator Value() const { return value; }

  Term apply(std::string_view op, const std::vector<Value>& operands, const Attrs& attrs = {}) const {
    return value.builder().apply(op, operands, attrs);
  }
  Term scaled(double factor, double offset) const {
    return apply("scale", {value}, ScaleAttrs{.scale = factor, .bias = offset});
  }

  friend Term operator+(const Term& a, const Term& b) { return a.apply("add", {a, b}); }
  friend Term operator-(const Term& a, const Term& b) { return a.apply("sub", {a, b}); }
  friend Term operator*(const Term& a, const Term& b) { return a.apply("mul", {a, b}); }
  friend Term operator/(const Term& a, const Term& b) { return a.apply("div", {a, b}); }
  friend Term operator+(const Term& a, double b) { return a.scaled(1, b); }
  friend Term operator*(const Term& a, double b) { return a.scaled(b, 0); }
  friend Term operator-(double a, const Term& b) { return b.scaled(-1, a); }
};

inline Term square(const Term& x) { return x.apply("square", {x}); }
inline Term root(const Term& x) { return x.apply("sqrt", {x}); }
inline Term inverse_root(const Term& x) { return x.apply("rsqrt", {x}); }
inline Term magnitude(const Term& x) { return x.apply("abs", {x}); }
inline Term larger(const Term& a, const Term& b) { return a.apply("maximum", {a, b}); }
inline Term smaller(const Term& a, const Term& b) { return a.apply("minimum", {a, b}); }
/// Returns `value` in every element of a type.
inline Term number_like(const Term& x, double value, const Type& type) {
  return constant(x.value.builder(), value, type);
}
/// Returns base to the power of `exponent`.
inline Term power(double base, const Term& exponent) {
  return exponent.apply("power", {number_like(exponent, base, {exponent.value.dtype(), {}}), exponent});
}
/// Returns the sum over dimensions, times a factor. The result lacks the dimensions unless `keeps` them.
inline Term sum_over(const Term& x, const std::vector<int64_t>& axes, double factor = 1, bool keeps = false) {
  return x.apply("reduce", {x}, ReduceAttrs{.kind = Reduce::sum, .axes = axes, .keep_dims = keeps, .scale = factor});
}
/// Returns the sum of all elements, times a factor.
inline Term sum_of(const Term& x, double factor = 1) {
  std::vector<int64_t> axes(static_cast<size_t>(x.value.type().rank()));
  std::iota(axes.begin(), axes.end(), 0);
  if (axes.empty()) return factor == 1 ? x : x * factor;
  return sum_over(x, axes, factor);
}
/// Returns the Euclidean norm of all elements.
inline Term norm_of(const Term& x) { return root(sum_of(square(x))); }

/// Returns the mean of a state and of `added`, of which the state keeps the share `keep`.
inline Term averaged(Value state, double keep, const Term& added) {
  const Term kept = Term(state) * keep;
  return kept + added * (1 - keep);
}

/// Returns the gradient with the decay of the parameter added: L2 regularization.
inline Term decayed_gradient(const UpdateCall& call) {
  if (call.decay == 0) return call.gradient;
  return Term(call.gradient) + Term(call.parameter) * call.decay;
}
/// Returns the number of this step, counted from 1, in the parameter's element type.
inline Term step_number(const UpdateCall& call) {
  return Term(call.apply("cast", {call.steps()}, CastAttrs{call.parameter.dtype()})) + 1;
}
/// Returns the initial value of a state all of whose elements are `value`.
inline Initializer filled(double value) { return {InitKind::constant, {value}}; }

}  // namespace partita
