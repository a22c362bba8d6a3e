#pragma once
// Helpers shared by the op files: checks with uniform messages, broadcasting and pointwise loops. The checks throw
// InvalidArgument that begins with "[op]".

#include <algorithm>
#include <type_traits>
#include <utility>

#include "ir/graph/builder.h"
#include "ir/graph/op_def.h"

namespace partita {

/// The halves of an op whose first result has 16 bits if an operand has (OpTraits::halves).
inline const Halves kFollowsHalves{.results = 1, .follow = true};

/// Returns an op with these members and no function.
inline OpDef new_op(std::string name, std::string summary, OperandRules operands, Attrs attrs = {},
                    const Halves& halves = {}) {
  OpDef op;
  op.name = std::move(name);
  op.summary = std::move(summary);
  op.attrs = std::move(attrs);
  op.operands = std::move(operands);
  op.traits.halves = halves;
  return op;
}

/// Checks that the type is not bool. Throws InvalidArgument otherwise.
void require_number(std::string_view op, const Type& type);
/// Checks that the operands from `first` on have exactly these types. Throws InvalidArgument otherwise.
void require_types(std::string_view op, const OpCall& call, size_t first, const std::vector<Type>& expected);

/// Checks that the first operand has the dimension `axis`, counted from the front. Throws InvalidArgument otherwise.
void require_axis(std::string_view op, const OpCall& call, int64_t axis);

/// Returns `pointwise_rule` for an op that needs whole lines along `axis`, which is therefore never cut.
ShardingRule whole_along(const OpCall& call, int64_t axis);

/// Returns the `localize` of an op: a copy of its attributes, an A, that `change(attributes, shard)` changed.
template <class A, class Fn>
std::function<Attrs(const Attrs&, const Shard&)> localized(const Fn& change) {
  return [change](const Attrs& given, const Shard& shard) -> Attrs {
    A attrs = given.as<A>();
    change(attrs, shard);
    return attrs;
  };
}

/// Returns `OpTraits::take_place` of an op whose attributes, an A, have `begin`, and the local sizes `sizes`.
template <class A, class... Sizes>
std::function<std::vector<int64_t>(Attrs&)> takes_begin(Sizes A::*... sizes) {
  return [=](Attrs& given) {
    A attrs = given.as<A>();
    std::vector<int64_t> begins;
    if constexpr (std::is_same_v<decltype(attrs.begin), int64_t>) {
      begins = {std::exchange(attrs.begin, 0)};
    } else {
      begins = attrs.begin;
      std::ranges::fill(attrs.begin, 0);
    }
    ((attrs.*sizes = Sizes{}), ...);
    given = attrs;
    return begins;
  };
}

/// Returns `OpTraits::take_place` of an op whose attributes, an A, have the shape of its result.
template <class A>
std::function<std::vector<int64_t>(Attrs&)> takes_shape() {
  return [](Attrs& given) {
    A attrs = given.as<A>();
    attrs.shape = {};
    given = attrs;
    return std::vector<int64_t>{};
  };
}

/// Returns no gradient for any operand. For ops that are constant wherever they have a slope.
std::vector<Value> no_gradients(const GradCall& call);

/// Returns the degree of the first operand. For OpTraits::degree.
std::optional<int> degree_of_first(const Attrs& attrs, const std::vector<int>& degrees);
/// Returns the common degree of all operands, or nothing if they differ. For OpTraits::degree.
std::optional<int> degree_of_all(const Attrs& attrs, const std::vector<int>& degrees);
/// Returns the highest degree of an operand; there is at least one operand, so never nothing. For OpTraits::degree.
std::optional<int> highest_degree(const Attrs& attrs, const std::vector<int>& degrees);

/// Returns the NumPy broadcast of two shapes. Throws InvalidArgument if they do not broadcast, with both in the
/// message.
Shape broadcast(std::string_view op, const Shape& a, const Shape& b);
/// Returns the broadcast of all operands, in the type of the first; the `infer` of pointwise ops. Throws
/// InvalidArgument unless they broadcast.
std::vector<Type> infer_pointwise(std::string_view op, const OpCall& call);

/// Returns `x` cast to `dtype`, or `x` itself if it has that type.
Value to_dtype(const BuildCall& call, Value x, DType dtype);
/// Returns `sum + d`, or `d` if `sum` is empty: the gradients of a value as they arrive.
Value added(const BuildCall& call, Value sum, Value d);
/// Returns `d`, a gradient in the broadcast shape, summed to the shape of `target` by nodes that it adds; `d` itself if
/// it has that shape.
Value sum_to(const GradCall& call, Value d, const Type& target);

/// Returns the strides with which a shape is read in a broadcast to `out`: 0 where its size is 1 or it lacks the
/// dimension.
Shape broadcast_strides(const Shape& shape, const Shape& out);

/// Returns the strides of the first N operands in their broadcast to `out`.
template <size_t N>
std::array<Shape, N> broadcast_strides(Inputs in, const Shape& out) {
  std::array<Shape, N> strides;
  for (size_t k = 0; k < N; ++k) strides[k] = broadcast_strides(in[k].type.shape, out);
  return strides;
}

/// Calls fn(output element, element of each operand) over the row-major broadcast to `out`, with the strides of each
/// operand.
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

/// Returns a sample operand f64[shape].
inline SampleInput sample_of(Shape shape, Fill::Kind kind = Fill::normal) {
  return {Type{DType::f64, std::move(shape)}, {kind, 0}};
}
/// Returns a sample operand i32[shape] of ids in [0, below).
inline SampleInput ids_of(Shape shape, int64_t below) {
  return {Type{DType::i32, std::move(shape)}, {Fill::ids, below}};
}

}  // namespace partita
