#pragma once
// What the op files share: checks with uniform messages, broadcasting, and pointwise loops.

#include "graph/builder.h"
#include "graph/op_def.h"

namespace partita {

/// Throws `[op] what, got GOT, expected EXPECTED`.
[[noreturn]] void reject(std::string_view op, std::string_view what, const std::string& got,
                         const std::string& expected, ErrorKind kind = ErrorKind::value);

/// Throws unless there are `count` operands.
void require_operands(std::string_view op, const OpCall& call, size_t count);
/// Throws unless all operands have one element type.
void require_same_dtype(std::string_view op, const OpCall& call);
/// Throws unless the operand is of a float type.
void require_float(std::string_view op, const OpCall& call, size_t operand = 0);
/// Throws unless the operand has `rank` dimensions.
void require_rank(std::string_view op, const OpCall& call, size_t operand, int rank);
/// Throws unless the operands from `first` on have exactly these types.
void require_types(std::string_view op, const OpCall& call, size_t first, const std::vector<Type>& expected);

/// The NumPy broadcast of two shapes, or a rejection with both.
Shape broadcast(std::string_view op, const Shape& a, const Shape& b);
/// The broadcast of all operands, in the type of the first; the `infer` of pointwise ops.
std::vector<Type> infer_pointwise(std::string_view op, const OpCall& call);
/// The same for float operands only.
std::vector<Type> infer_pointwise_float(std::string_view op, const OpCall& call);

/// Sums `d`, a gradient in the broadcast shape, back to the shape of `target`.
Value sum_to(const GradCall& call, Value d, const Type& target);

/// A negative axis counted from the end; rejects what is outside.
int64_t resolve_axis(std::string_view op, int64_t axis, int rank);

/// The strides with which a shape is read in a broadcast: 0 where its size is 1.
Shape broadcast_strides(const Shape& shape, const Shape& out);

/// Calls fn(output element, element of each operand) over the row-major broadcast of `shapes`.
template <size_t N, class Fn>
void for_broadcast(const Shape& out, const std::array<Shape, N>& strides, Fn&& fn) {
  const int64_t total = elements(out);
  if (total == 0) return;
  const int rank = static_cast<int>(out.size());
  std::vector<int64_t> index(out.size(), 0);
  std::array<int64_t, N> at{};
  for (int64_t i = 0; i < total; ++i) {
    fn(i, at);
    for (int d = rank - 1; d >= 0; --d) {
      for (size_t k = 0; k < N; ++k) at[k] += strides[k][d];
      if (++index[d] < out[d]) break;
      for (size_t k = 0; k < N; ++k) at[k] -= strides[k][d] * out[d];
      index[d] = 0;
    }
  }
}

/// out[i] = fn(in[i]) for a float operand; `fn` is a generic lambda on double (f64) or float.
template <class Fn>
void unary_float_kernel(Inputs in, Outputs out, Fn&& fn) {
  for_float(in[0].type.dtype, [&](auto zero) {
    using T = decltype(zero);
    using Compute = std::conditional_t<std::is_same_v<T, double>, double, float>;
    const T* x = in[0].as<T>();
    T* y = out[0].as<T>();
    const int64_t count = out[0].type.elements();
    for (int64_t i = 0; i < count; ++i) y[i] = T(fn(static_cast<Compute>(x[i])));
  });
}

/// out = fn(a, b) with broadcasting, for any element type; 16-bit floats compute in f32.
template <class Fn>
void binary_kernel(Inputs in, Outputs out, Fn&& fn) {
  for_dtype(in[0].type.dtype, [&](auto zero) {
    using T = decltype(zero);
    using Compute = std::conditional_t<std::is_same_v<T, bf16> || std::is_same_v<T, f16>, float, T>;
    const T* a = in[0].as<T>();
    const T* b = in[1].as<T>();
    const Shape& shape = out[0].type.shape;
    const std::array<Shape, 2> strides{broadcast_strides(in[0].type.shape, shape),
                                       broadcast_strides(in[1].type.shape, shape)};
    for_dtype(out[0].type.dtype, [&](auto result) {
      using R = decltype(result);
      R* y = out[0].as<R>();
      for_broadcast<2>(shape, strides, [&](int64_t i, const std::array<int64_t, 2>& at) {
        const auto value = fn(static_cast<Compute>(a[at[0]]), static_cast<Compute>(b[at[1]]));
        if constexpr (std::is_same_v<R, bf16> || std::is_same_v<R, f16>) {
          y[i] = R(static_cast<float>(value));
        } else {
          y[i] = static_cast<R>(value);
        }
      });
    });
  });
}

/// f64[2,3]: shorthand for samples.
inline SampleInput sample_of(Shape shape, Fill::Kind kind = Fill::normal) {
  return {Type{DType::f64, std::move(shape)}, {kind, 0}};
}
inline SampleInput ids_of(Shape shape, int64_t below) {
  return {Type{DType::i32, std::move(shape)}, {Fill::ids, below}};
}

}  // namespace partita
