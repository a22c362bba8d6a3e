#include <algorithm>
#include <limits>

#include "ir/ops/elementwise/attrs.h"
#include "ir/ops/kernels.h"
#include "ir/ops/reduce/attrs.h"
#include "ir/ops/shape/attrs.h"

namespace partita {
namespace {

bool is_reduced(const ReduceAttrs& attrs, size_t dim) {
  return std::ranges::find(attrs.axes, static_cast<int64_t>(dim)) != attrs.axes.end();
}

std::vector<Type> infer_reduce(const OpCall& call) {
  const ReduceAttrs& attrs = call.attrs.as<ReduceAttrs>();
  const Type& x = call.inputs[0];
  if (attrs.kind == Reduce::none) reject("reduce", "no kind", "none", "sum, max or min");
  if (attrs.scale != 1 && (attrs.kind != Reduce::sum || !is_float(x.dtype))) {
    reject("reduce", "a scale without a sum of floats", print(x), "kind=sum of floats");
  }
  std::vector<bool> seen(x.shape.size(), false);
  for (int64_t axis : attrs.axes) {
    if (axis < 0 || axis >= x.rank() || seen[axis]) {
      reject("reduce", "bad axes", fmt::format("[{}] of {}", fmt::join(attrs.axes, ","), print(x)),
             "each at most once, from 0", ErrorKind::index);
    }
    seen[axis] = true;
    if (attrs.kind != Reduce::sum && x.shape[axis] == 0) reject("reduce", "no elements", print(x), "at least one");
  }
  Type result{x.dtype, {}};
  for (size_t d = 0; d < x.shape.size(); ++d) {
    if (!seen[d]) result.shape.push_back(x.shape[d]);
    if (seen[d] && attrs.keep_dims) result.shape.push_back(1);
  }
  return {result};
}

ShardingRule rule_reduce(const OpCall& call) {
  const ReduceAttrs& attrs = call.attrs.as<ReduceAttrs>();
  ShardingRule result = pointwise_rule({call.attrs, call.inputs, call.inputs});
  TensorMap out;
  for (size_t d = 0; d < call.inputs[0].shape.size(); ++d) {
    if (!is_reduced(attrs, d)) {
      out.push_back(result.inputs[0][d]);
      continue;
    }
    for (int factor : result.inputs[0][d].factors) result.factors[factor].reduce = attrs.kind;
    if (attrs.keep_dims) out.emplace_back();
  }
  result.outputs = {out};
  ReduceSet kinds{.sum = attrs.kind == Reduce::sum, .max = attrs.kind == Reduce::max, .min = attrs.kind == Reduce::min};
  return result.linear_in({0}, kinds);
}

std::vector<Value> grad_reduce(const GradCall& call) {
  const ReduceAttrs& attrs = call.attrs.as<ReduceAttrs>();
  const Type& x = call.inputs[0].type();
  Shape kept = x.shape;
  for (int64_t axis : attrs.axes) kept[axis] = 1;
  const auto spread = [&](Value value) {
    if (value.shape() != kept) value = call.apply("reshape", {value}, ReshapeAttrs{.shape = kept});
    if (kept == x.shape) return value;
    return call.apply("broadcast_to", {value}, BroadcastAttrs{.shape = x.shape});
  };
  if (attrs.kind == Reduce::sum) {
    Value d = call.d_outputs[0];
    if (attrs.scale != 1) d = call.apply("scale", {d}, ScaleAttrs{.scale = attrs.scale});
    return {spread(d)};
  }
  // Elements that are equally large (small) share the gradient.
  const Value hits = call.apply("equal", {call.inputs[0], spread(call.outputs[0])});
  const Value ones = call.apply("cast", {hits}, CastAttrs{.dtype = x.dtype});
  ReduceAttrs count = attrs;
  count.kind = Reduce::sum;
  const Value share = call.apply("div", {call.d_outputs[0], call.apply("reduce", {ones}, Attrs(count))});
  return {call.apply("mul", {ones, spread(share)})};
}

std::optional<Attrs> share_of_mean(const OpCall& call, int64_t parts) {
  ReduceAttrs attrs = call.attrs.as<ReduceAttrs>();
  double count = 1;
  for (const int64_t axis : attrs.axes) count *= static_cast<double>(call.inputs[0].shape[axis]);
  if (attrs.scale != 1 / count) return std::nullopt;
  attrs.scale /= static_cast<double>(parts);
  return Attrs(attrs);
}

/// Returns the reduction over no elements, which any element replaces: 0 for a sum, and for a maximum or a minimum the
/// infinity or the number of the type that no element exceeds.
template <class T>
T initial(Reduce kind) {
  using Limits = std::numeric_limits<T>;
  if (kind == Reduce::sum) return T{0};
  if (kind == Reduce::max) return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  return Limits::has_infinity ? Limits::infinity() : Limits::max();
}

/// Reduces in[0] to out[0] with loops whose innermost run is contiguous in x. The index `at` into the result has stride
/// 0 over reduced axes.
constexpr auto run_reduce = []<class T>(const ReduceAttrs& attrs, Inputs in, Outputs out) {
  using Sum = std::conditional_t<std::is_floating_point_v<T>, double, int64_t>;
  const Shape& shape = in[0].type.shape;
  Shape kept = shape;
  for (int64_t axis : attrs.axes) kept[axis] = 1;
  const T* x = in[0].as<T>();
  std::vector<Sum> sums(out[0].type.elements(), static_cast<Sum>(initial<T>(attrs.kind)));
  for_broadcast<1>(shape, {broadcast_strides(kept, shape)}, [&](int64_t i, const std::array<int64_t, 1>& at) {
    const Sum value = static_cast<Sum>(x[i]);
    Sum& sum = sums[at[0]];
    if (attrs.kind == Reduce::sum)
      sum += value;
    else if (attrs.kind == Reduce::max)
      sum = value > sum || value != value ? value : sum;
    else
      sum = value < sum || value != value ? value : sum;
  });
  std::ranges::transform(sums, out[0].as<T>(), [&](Sum sum) {
    return static_cast<T>(attrs.scale == 1 ? sum : static_cast<Sum>(sum * attrs.scale));
  });
};

/// Returns the number with which a reduction begins.
Hlo start_of(const EmitCall& call, Reduce kind, const Type& type) {
  Hlo start;
  for_dtype(type.dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      start = call.splat_integer(static_cast<int64_t>(initial<T>(kind)), type);
    } else if constexpr (sizeof(T) == 2) {
      start = call.splat(initial<double>(kind), type);
    } else {
      start = call.splat(static_cast<double>(initial<T>(kind)), type);
    }
  });
  return start;
}

/// Sums of 16-bit floats are added in f32, and a sum of bools is "any".
std::vector<Hlo> emit_reduce(const EmitCall& call) {
  const ReduceAttrs& attrs = call.attrs.as<ReduceAttrs>();
  const Type& result = call.outputs[0];
  const bool is_sum = attrs.kind == Reduce::sum, is_bool = result.dtype == DType::boolean;
  const Hlo x = is_half(result.dtype) && is_sum ? call.convert(call.inputs[0], DType::f32) : call.inputs[0];
  const char* op = is_sum ? (is_bool ? "or" : "add") : attrs.kind == Reduce::max ? "maximum" : "minimum";
  Hlo y = call.reduce(x, op, start_of(call, attrs.kind, {x.type.dtype, {}}), attrs.axes);
  if (attrs.scale != 1) y = call.body.add_same("stablehlo.multiply", {y, call.splat(attrs.scale, y.type)});
  return {call.convert(call.reshape(y, result.shape), result.dtype)};
}

}  // namespace

std::vector<OpDef> reduce_ops() {
  OpDef op = new_op("reduce", "sum (times scale), max or min over some axes", {.count = 1}, ReduceAttrs{});
  op.infer = infer_reduce;
  op.rule = rule_reduce;
  op.grad = grad_reduce;
  op.emit = emit_reduce;
  op.kernel = number_kernel<ReduceAttrs>(run_reduce);
  op.traits = {.degree = degree_of_first, .share_of_mean = share_of_mean};
  op.samples = {{{sample_of({4, 3, 5})}, ReduceAttrs{Reduce::sum, {1}, false, 0.25}},
                {{sample_of({4, 6})}, ReduceAttrs{Reduce::sum, {0, 1}, false, 1}},
                {{sample_of({4, 6}, Fill::distinct)}, ReduceAttrs{Reduce::max, {1}, true, 1}},
                {{sample_of({5, 4}, Fill::distinct)}, ReduceAttrs{Reduce::min, {0}, false, 1}}};
  return {op};
}

}  // namespace partita
