#include <numbers>

#include "ir/ops/constant.h"
#include "ir/ops/elementwise/attrs.h"
#include "ir/ops/formula_gradient.h"
#include "ir/ops/pointwise.h"

namespace partita {
namespace {

constexpr double kGeluScale = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;  // sqrt(2 / pi)
constexpr double kGeluCube = 0.044715;

/// The approximate standard normal distribution function and its slope.
template <class T>
struct GeluTanh {
  T value, slope;
};
template <class T>
GeluTanh<T> gelu_tanh(T x) {
  const T scale = static_cast<T>(kGeluScale), cube = static_cast<T>(kGeluCube);
  const T t = tanh_of(scale * (x + cube * x * x * x));
  // 1 - t * t is 0 long before the square is at its limit; an infinite square would make NaN of it.
  const T square = min_of(x * x, T(1e9));
  return {T(0.5) * (1 + t), T(0.5) * (1 - t * t) * scale * (1 + 3 * cube * square)};
}

OpDef gelu_op() {
  OpDef op =
      pointwise_op<GeluAttrs>("gelu", "x times the normal distribution function of x", [](const GeluAttrs& attrs) {
        if (!attrs.approximate) return formula([](auto x) { return x * normal_cdf(x); });
        return formula([](auto x) { return x * gelu_tanh(x).value; });
      });
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    return {call.apply("gelu_grad", {call.d_outputs[0], call.inputs[0]}, call.attrs)};
  };
  op.flops_per_point = 20;
  op.samples = {{{sample_of({4, 6})}}, {{sample_of({5})}, GeluAttrs{true}}};
  return op;
}

/// Builds d_y (c + x s), where c is the normal distribution function of x, or its approximation, and s its slope. The
/// square of x is limited where s is 0, since an infinite one would make NaN of it.
std::vector<Value> gelu_grad_formula(const ExpandCall& call) {
  const Value x = call.inputs[1];
  const auto scaled = [&](Value value, double scale, double bias = 0) {
    return call.apply("scale", {value}, ScaleAttrs{.scale = scale, .bias = bias});
  };
  const Value square =
      call.apply("minimum", {call.apply("square", {x}), constant(call.builder, 1e4, Type{x.dtype(), {}})});
  Value step, slope;  // twice c, less 1
  if (call.attrs.as<GeluAttrs>().approximate) {
    const Value cubic = call.apply("mul", {scaled(x, kGeluScale), scaled(square, kGeluCube, 1)});
    step = call.apply("tanh", {cubic});
    const Value rest = scaled(call.apply("square", {step}), -1, 1);
    slope = call.apply("mul", {rest, scaled(square, 1.5 * kGeluScale * kGeluCube, 0.5 * kGeluScale)});
  } else {
    step = call.apply("erf", {scaled(x, 1 / std::numbers::sqrt2)});
    slope = scaled(call.apply("exp", {scaled(square, -0.5)}), 0.5 * std::numbers::sqrt2 * std::numbers::inv_sqrtpi);
  }
  const Value total = call.apply("add", {scaled(step, 0.5, 0.5), call.apply("mul", {x, slope})});
  return {call.apply("mul", {call.inputs[0], total})};
}

OpDef gelu_grad_op() {
  OpDef op = pointwise_op<GeluAttrs>("gelu_grad", "d_y times the slope of gelu at x", [](const GeluAttrs& attrs) {
    if (!attrs.approximate) {
      return formula([](auto d_y, auto x) { return d_y * (normal_cdf(x) + x * normal_density(x)); });
    }
    return formula([](auto d_y, auto x) { return d_y * (gelu_tanh(x).value + x * gelu_tanh(x).slope); });
  });
  op.rule = [](const OpCall& call) { return pointwise_rule(call).linear_in({0}); };
  op.grad = by_formula(gelu_grad_formula);
  op.flops_per_point = 25;
  op.samples = {{{sample_of({4, 6}), sample_of({4, 6})}}, {{sample_of({5}), sample_of({5})}, GeluAttrs{true}}};
  return op;
}

}  // namespace

std::vector<OpDef> gelu_ops() { return {gelu_op(), gelu_grad_op()}; }

}  // namespace partita
