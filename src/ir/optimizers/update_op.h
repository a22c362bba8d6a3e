#pragma once
// Makes the op of an update that computes each element of a parameter alone. The arithmetic is given once, as a
// template over the number type, for the reference kernel, the vectorized loops and the programs of accelerators:
//
//   template <class T>
//   struct SgdStep : UpdateStep<SgdAttrs, Scalars::rate, 2, 0> {  // of weight and gradient; result 0 is the new weight
//     template <class Scalar, class Cast>
//     SgdStep(const SgdAttrs& attrs, const Scalar& rate, const Scalar& terms, const Cast& cast);
//     void apply(std::array<T, kTensors>& x) const;
//   };
//
// The constructor computes what is the same for all elements, from the learning rate and the number of steps with this
// one, in f64 where the step counts. `cast` makes a T of it. `apply` replaces the tensors by their new values.

#include "base/vector_math.h"
#include "ir/ops/emission.h"
#include "ir/ops/support.h"
#include "ir/ops/wide.h"

namespace partita {

/// The scalar operands of an update, which follow its tensors: the learning rate, of the parameter's type, and the
/// number of steps before this one (i64).
enum class Scalars { none, rate, rate_and_step };

/// A step: its attributes, the scalars and the `kCount` tensors that it is given, and which of these are its results.
template <class A, Scalars kOperands, size_t kCount, size_t... kIndices>
struct UpdateStep {
  using Attributes = A;
  static constexpr Scalars kScalars = kOperands;
  static constexpr size_t kTensors = kCount;
  static constexpr std::array<size_t, sizeof...(kIndices)> kResults{kIndices...};
};

namespace update {

template <class Step>
constexpr size_t kScalarCount = static_cast<size_t>(Step::kScalars);
template <class Step>
constexpr bool kCounts = Step::kScalars == Scalars::rate_and_step;

template <class Step>
std::vector<Type> operand_types(const Type& parameter) {
  std::vector<Type> types(Step::kTensors, parameter);
  if constexpr (Step::kScalars != Scalars::none) types.push_back({parameter.dtype, {}});
  if constexpr (kCounts<Step>) types.push_back({DType::i64, {}});
  return types;
}

/// Makes the constants of a step that computes in T from the pointers of the operands, whose type is U.
template <template <class> class Step, class T, class U>
Step<T> step_of(const Attrs& attrs, std::span<const void* const> in) {
  using S = Step<T>;
  const auto cast = [](double value) { return static_cast<T>(value); };
  double rate = 0, terms = 1;
  if constexpr (S::kScalars != Scalars::none) {
    rate = static_cast<double>(static_cast<T>(*static_cast<const U*>(in[S::kTensors])));
  }
  if constexpr (kCounts<S>) terms = static_cast<double>(*static_cast<const int64_t*>(in[S::kTensors + 1]) + 1);
  return S(attrs.as<typename S::Attributes>(), rate, terms, cast);
}

/// Flattened, because the loop vectorizes only if everything that it calls is inlined.
template <class T, class Step, size_t... Tensor, size_t... Result>
[[gnu::flatten]] void run_elements(const Step& step, const std::array<const T*, sizeof...(Tensor)>& in,
                                   const std::array<T*, sizeof...(Result)>& out, int64_t begin, int64_t end,
                                   std::index_sequence<Tensor...>, std::index_sequence<Result...>) {
#pragma omp simd
  for (int64_t i = begin; i < end; ++i) {
    std::array<T, sizeof...(Tensor)> x{in[Tensor][i]...};
    step.apply(x);
    ((out[Result][i] = x[Step::kResults[Result]]), ...);
  }
}

template <template <class> class Step, class T>
UpdateLoop::Run loop_of(const Attrs& attrs) {
  using S = Step<T>;
  return [attrs](std::span<const void* const> in, std::span<void* const> out, int64_t begin, int64_t end) {
    std::array<const T*, S::kTensors> tensors{};
    std::array<T*, S::kResults.size()> results{};
    for (size_t k = 0; k < tensors.size(); ++k) tensors[k] = static_cast<const T*>(in[k]);
    for (size_t k = 0; k < results.size(); ++k) results[k] = static_cast<T*>(out[k]);
    run_elements(step_of<Step, T, T>(attrs, in), tensors, results, begin, end, std::make_index_sequence<S::kTensors>(),
                 std::make_index_sequence<S::kResults.size()>());
  };
}

template <template <class> class Step>
void run_reference(const Attrs& attrs, Inputs in, Outputs out) {
  for_float(in[0].type.dtype, [&](auto zero) {
    using T = decltype(zero);
    using Number = std::conditional_t<std::is_same_v<T, double>, double, float>;
    using S = Step<Number>;
    std::vector<const void*> pointers;
    for (const ConstTensor& operand : in) pointers.push_back(operand.data);
    const S step = step_of<Step, Number, T>(attrs, pointers);
    for (int64_t i = 0; i < in[0].type.elements(); ++i) {
      std::array<Number, S::kTensors> x{};
      for (size_t k = 0; k < x.size(); ++k) x[k] = static_cast<Number>(in[k].template as<T>()[i]);
      step.apply(x);
      for (size_t k = 0; k < out.size(); ++k) out[k].template as<T>()[i] = T(x[S::kResults[k]]);
    }
  });
}

/// Makes the constants of a step in a program of an accelerator. Those that depend on the number of steps are computed
/// in f64, as the kernels do.
template <template <class> class Step>
Step<Traced> traced_step(const EmitCall& call) {
  using S = Step<Traced>;
  const Type& type = call.outputs[0];
  const auto& attrs = call.attrs.as<typename S::Attributes>();
  if constexpr (kCounts<S>) {
    const Traced given(call, call.convert(call.inputs[S::kTensors], DType::f64));
    const Traced terms = Traced(call, call.convert(call.inputs[S::kTensors + 1], DType::f64)) + 1;
    return S(attrs, given, terms, [&](const Traced& value) {
      const Hlo scalar = call.convert(value.as(call, {DType::f64, {}}), computed_type(type.dtype));
      return Traced(call, call.broadcast(scalar, type.shape));
    });
  } else {
    Traced rate = 0;
    if constexpr (S::kScalars == Scalars::rate) {
      rate = computed_operand(call, call.broadcast(call.inputs[S::kTensors], type.shape));
    }
    return S(attrs, rate, Traced(1), [](const Traced& value) { return value; });
  }
}

template <template <class> class Step>
std::vector<Hlo> emit(const EmitCall& call) {
  using S = Step<Traced>;
  const Type& type = call.outputs[0];
  const S step = traced_step<Step>(call);
  const auto operands = [&]<size_t... Tensor>(std::index_sequence<Tensor...>) {
    return std::array<Traced, S::kTensors>{computed_operand(call, call.inputs[Tensor])...};
  };
  std::array<Traced, S::kTensors> x = operands(std::make_index_sequence<S::kTensors>());
  step.apply(x);
  std::vector<Hlo> results;
  for (const size_t result : S::kResults) results.push_back(rounded_result(call, x[result], type));
  return results;
}

}  // namespace update

/// Returns the op of an update, with types, rule and kernels. `flops` are those of one element. `positive` are the
/// tensors that samples fill with positive numbers, such as means of squares. Each of `samples` becomes one case.
template <template <class> class Step>
OpDef update_op(std::string name, std::string summary, double flops, const std::vector<size_t>& positive,
                const std::vector<typename Step<double>::Attributes>& samples) {
  using S = Step<double>;
  OpDef op;
  op.name = name;
  op.summary = std::move(summary);
  op.attrs = Attrs(typename S::Attributes{});
  op.infer = [name](const OpCall& call) -> std::vector<Type> {
    require_operands(name, call, S::kTensors + update::kScalarCount<S>);
    require_float(name, call);
    const std::vector<Type> expected = update::operand_types<S>(call.inputs[0]);
    if (call.inputs != expected) reject(name, "operands do not fit", print(call.inputs), print(expected));
    if constexpr (requires { S::expected(call.attrs.as<typename S::Attributes>()); }) {
      const std::string range = S::expected(call.attrs.as<typename S::Attributes>());
      if (!range.empty()) reject(name, "bad attributes", call.attrs.print(), range);
    }
    return std::vector<Type>(S::kResults.size(), call.inputs[0]);
  };
  op.rule = [](const OpCall& call) { return pointwise_rule(call); };
  op.flops_per_point = flops;
  op.kernel = update::run_reference<Step>;
  op.update = [](const Attrs& attrs) {
    UpdateLoop loop{.tensors = S::kTensors,
                    .in_place = {},
                    .f64 = update::loop_of<Step, double>(attrs),
                    .f32 = update::loop_of<Step, float>(attrs)};
    for (size_t k = 0; k < S::kResults.size(); ++k) {
      loop.in_place.emplace_back(static_cast<int>(S::kResults[k]), static_cast<int>(k));
    }
    return loop;
  };
  op.emit = update::emit<Step>;
  for (const auto& attrs : samples) {
    std::vector<SampleInput> operands(S::kTensors, sample_of({4, 6}));
    for (const size_t k : positive) operands[k] = sample_of({4, 6}, Fill::positive);
    if constexpr (S::kScalars != Scalars::none) operands.push_back(sample_of({}, Fill::positive));
    if constexpr (update::kCounts<S>) operands.push_back({Type{DType::i64, {}}, {Fill::ids, 9}});
    op.samples.push_back({operands, Attrs(attrs)});
  }
  return op;
}

}  // namespace partita
