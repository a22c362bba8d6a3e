#pragma once
// Makes pointwise ops from a formula. It is given once, as a generic function of one or two numbers, for the reference
// kernel (in f64, or in i64 for integers) and the vectorized loops (in f32 and f64). Formulas use the functions of
// `base/vector_math.h`; a formula without branches vectorizes.

#include "base/vector_math.h"
#include "ir/ops/support.h"

namespace partita {

/// Applies a formula to one operand. Flattened, because these loops vectorize only if everything they call is inlined.
template <class T, class Fn>
[[gnu::flatten]] void run_unary(const Fn& fn, const T* x, T* result, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) result[i] = static_cast<T>(fn(x[i]));
}

/// Applies a formula to two operands, each with a step of 1 or 0.
template <class T, class Fn>
[[gnu::flatten]] void run_binary(const Fn& fn, const T* a, int64_t step_a, const T* b, int64_t step_b, T* result,
                                 int64_t count) {
  if (step_a == 1 && step_b == 1) {
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) result[i] = static_cast<T>(fn(a[i], b[i]));
  } else if (step_a == 1) {
    const T other = *b;
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) result[i] = static_cast<T>(fn(a[i], other));
  } else if (step_b == 1) {
    const T other = *a;
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) result[i] = static_cast<T>(fn(other, b[i]));
  } else {
    std::fill_n(result, count, static_cast<T>(fn(*a, *b)));
  }
}

template <class T, class Fn>
Pointwise::Loop<T> unary_loop(const Fn& fn) {
  return [fn](const T* const* operands, const int64_t*, T* result, int64_t count) {
    run_unary<T>(fn, operands[0], result, count);
  };
}

template <class T, class Fn>
Pointwise::Loop<T> binary_loop(const Fn& fn) {
  return [fn](const T* const* operands, const int64_t* steps, T* result, int64_t count) {
    run_binary<T>(fn, operands[0], steps[0], operands[1], steps[1], result, count);
  };
}

/// Returns the loops of a formula of floats: `[](auto x) { return ..; }` or `[](auto a, auto b) { return ..; }`.
/// The formula cannot be written as StableHLO.
template <class Fn>
Pointwise loops_of(const Fn& fn) {
  if constexpr (std::is_invocable_v<Fn, double>) {
    return {.operands = 1, .f64 = unary_loop<double>(fn), .f32 = unary_loop<float>(fn)};
  } else {
    return {.operands = 2, .f64 = binary_loop<double>(fn), .f32 = binary_loop<float>(fn)};
  }
}

/// Returns the loops of a formula of floats, which can also be written as StableHLO (ir/graph/traced.h).
template <class Fn>
Pointwise formula(const Fn& fn) {
  Pointwise loops = loops_of(fn);
  if constexpr (std::is_invocable_v<Fn, Traced>) {
    loops.traced = [fn](const std::vector<Traced>& operands) -> Traced { return fn(operands[0]); };
  } else if constexpr (std::is_invocable_v<Fn, Traced, Traced>) {
    loops.traced = [fn](const std::vector<Traced>& operands) -> Traced { return fn(operands[0], operands[1]); };
  }
  return loops;
}

/// Returns the loops of a formula of two numbers of any type.
template <class Fn>
Pointwise number_formula(const Fn& fn) {
  Pointwise loops = formula(fn);
  loops.i64 = binary_loop<int64_t>(fn);
  return loops;
}

/// Returns the emission of a formula: its operands are broadcast to the shape of the result.
std::function<std::vector<Hlo>(const EmitCall&)> emission_of(const Pointwise& loops);

/// Returns the op of the formula that `bind` makes from the attributes, with types, rule and kernels for operands of
/// one type that are broadcast. It is linear in no operand. The caller adds the gradient and the samples.
OpDef pointwise_op(std::string name, std::string summary, Attrs attrs, std::function<Pointwise(const Attrs&)> bind);

/// Returns the op of a formula without attributes:
/// `pointwise_op("exp", "e to the power x", [](auto x) { return exp_of(x); })`.
template <class Fn>
OpDef pointwise_op(std::string name, std::string summary, const Fn& fn) {
  return pointwise_op(std::move(name), std::move(summary), Attrs(), [fn](const Attrs&) { return formula(fn); });
}

/// Returns the op of a formula of one float without attributes, which commutes with `reduces`. Its gradient is that of
/// the result times a value that `slope` adds. `fill` draws its samples.
template <class Fn>
OpDef slope_op(std::string name, std::string summary, ReduceSet reduces, const Fn& fn, Value (*slope)(const GradCall&),
               Fill::Kind fill = Fill::normal) {
  OpDef op = pointwise_op(std::move(name), std::move(summary), fn);
  if (reduces.max || reduces.min) {
    op.rule = [reduces](const OpCall& call) { return pointwise_rule(call).linear_in({0}, reduces); };
  }
  op.grad = [slope](const GradCall& call) -> std::vector<Value> {
    return {call.apply("mul", {call.d_outputs[0], slope(call)})};
  };
  op.samples = {{{sample_of({4, 6}, fill)}}, {{sample_of({5}, fill)}}};
  return op;
}

/// Returns the op of a formula of two numbers of any type, without attributes.
template <class Fn>
OpDef number_op(std::string name, std::string summary, const Fn& fn) {
  return pointwise_op(std::move(name), std::move(summary), Attrs(), [fn](const Attrs&) { return number_formula(fn); });
}

/// Returns the op of a formula that `bind` makes from the attributes:
/// `[](const ScaleAttrs& attrs) { return formula(..); }`.
template <class A>
OpDef pointwise_op(std::string name, std::string summary, Pointwise (*bind)(const A&)) {
  return pointwise_op(std::move(name), std::move(summary), Attrs(A{}),
                      [bind](const Attrs& attrs) { return bind(attrs.as<A>()); });
}

}  // namespace partita
