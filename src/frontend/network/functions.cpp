#include "frontend/network/functions.h"

#include <numeric>

#include "frontend/network/layer.h"
#include "frontend/network/restored.h"
#include "ir/ops/attention/attention.h"
#include "ir/ops/constant.h"
#include "ir/ops/elementwise/attrs.h"
#include "ir/ops/index/attrs.h"
#include "ir/ops/matmul/matmul.h"
#include "ir/ops/reduce/attrs.h"
#include "ir/ops/shape/attrs.h"

namespace partita {
namespace {

/// Returns the builder of the network that all operands belong to; messages begin with `op`. Throws InvalidArgument for
/// no operands, empty ones and those of different networks.
Builder& builder_of(std::string_view op, const std::vector<Value>& operands) {
  Builder* builder = nullptr;
  if (operands.empty()) throw InvalidArgument("[{}] no operands, got 0, expected 1 or more", op);
  for (const Value& value : operands) {
    if (!value || (builder != nullptr && builder != &value.builder())) {
      throw InvalidArgument("[{}] bad operand, got {}, expected a value of the network", op,
                            value ? "a value of another network" : "an empty value");
    }
    builder = &value.builder();
  }
  return *builder;
}

/// Returns `axis`, which counts from the end of x if it is negative, counted from the front. Throws InvalidArgument if
/// it is outside x, or x is empty.
int64_t axis_of(std::string_view op, int64_t axis, Value x) {
  builder_of(op, {x});
  const int rank = x.type().rank();
  if (axis >= -rank && axis < rank) return axis < 0 ? axis + rank : axis;
  throw InvalidArgument(ErrorKind::index, "[{}] axis is outside the tensor, got axis {} of {}, expected {} to {}", op,
                        axis, print(x.type()), -rank, rank - 1);
}

Value reduce(Reduce kind, Value x, std::vector<int64_t> axes, bool keep_dims, bool mean, const Where& where) {
  builder_of("reduce", {x});
  const int rank = x.type().rank();
  if (axes.empty()) {
    axes.resize(rank);
    std::iota(axes.begin(), axes.end(), 0);
  }
  double count = 1;
  for (int64_t& axis : axes) {
    if (axis < 0) axis += rank;
    if (axis >= 0 && axis < rank) count *= static_cast<double>(x.shape()[axis]);  // the op rejects others
  }
  return unary_op("reduce", x, where,
                  ReduceAttrs{.kind = kind, .axes = axes, .keep_dims = keep_dims, .scale = mean ? 1 / count : 1});
}

}  // namespace

Value unary_op(std::string_view op, Value x, const Where& where, const Attrs& attrs) {
  Builder& builder = builder_of(op, {x});
  const Restored at(builder.source, source_location(where));
  return builder.apply(op, {x}, attrs);
}

Value binary_op(std::string_view op, Value a, Value b, const Where& where, const Attrs& attrs) {
  Builder& builder = builder_of(op, {a, b});
  const DType dtype = promote(a.dtype(), b.dtype());
  const Value left = cast(a, dtype, where), right = cast(b, dtype, where);
  const Restored at(builder.source, source_location(where));
  return builder.apply(op, {left, right}, attrs);
}

std::vector<Value> apply_all(std::string_view op, const std::vector<Value>& operands, const Attrs& attrs, Where where) {
  Builder& builder = builder_of(op, operands);
  const Restored at(builder.source, source_location(where));
  return builder.apply_all(op, operands, attrs);
}

Value apply(std::string_view op, const std::vector<Value>& operands, const Attrs& attrs, Where where) {
  return apply_all(op, operands, attrs, where).at(0);
}

Value apply(std::string_view op, const std::vector<Value>& operands, std::string_view attrs, Where where) {
  return apply(op, operands, builder_of(op, operands).ops().at(op).attrs.parse(attrs), where);
}

Value shared_maximum(Value a, Value b, Where where) { return binary_op("shared_maximum", a, b, where); }
Value shared_minimum(Value a, Value b, Where where) { return binary_op("shared_minimum", a, b, where); }
Value gelu(Value x, bool approximate, Where where) {
  return unary_op("gelu", x, where, GeluAttrs{.approximate = approximate});
}
Value pow(Value x, double exponent, Where where) { return unary_op("pow", x, where, PowAttrs{.exponent = exponent}); }
Value polygamma(Value x, int64_t order, Where where) {
  return unary_op("polygamma", x, where, PolygammaAttrs{.order = order});
}
Value greater_equal(Value a, Value b, Where where) { return binary_op("greater_equal", a, b, where); }
Value logical_and(Value a, Value b, Where where) { return apply("logical_and", {a, b}, Attrs(), where); }
Value logical_or(Value a, Value b, Where where) { return apply("logical_or", {a, b}, Attrs(), where); }
Value binary_cross_entropy(Value logits, Value labels, Where where) {
  return binary_op("binary_cross_entropy", logits, labels, where);
}

Value select(Value condition, Value a, Value b, Where where) {
  builder_of("select", {condition, a, b});
  const DType dtype = promote(a.dtype(), b.dtype());
  return apply("select", {condition, cast(a, dtype, where), cast(b, dtype, where)}, Attrs(), where);
}

Value scale(Value x, double factor, double offset, Where where) {
  return unary_op("scale", x, where, ScaleAttrs{.scale = factor, .bias = offset});
}

Value cast(Value x, DType dtype, Where where) {
  builder_of("cast", {x});
  return x.dtype() == dtype ? x : unary_op("cast", x, where, CastAttrs{.dtype = dtype});
}

Value matmul(Value a, Value b, bool transpose_a, bool transpose_b, Where where) {
  return binary_op("matmul", a, b, where, MatmulAttrs{.transpose_a = transpose_a, .transpose_b = transpose_b});
}

Value reshape(Value x, const Shape& shape, Where where) {
  return unary_op("reshape", x, where, ReshapeAttrs{.shape = shape});
}

Value flatten(Value x, Where where) {
  builder_of("flatten", {x});
  const Shape shape = x.shape();
  if (shape.size() < 2) {
    throw InvalidArgument("[flatten] too few dimensions, got {}, expected [n, ..]", print(x.type()));
  }
  const int64_t rest = elements(Shape(shape.begin() + 1, shape.end()));
  return reshape(x, {shape[0], rest}, where);
}

Value transpose(Value x, const std::vector<int64_t>& perm, Where where) {
  return unary_op("transpose", x, where, TransposeAttrs{.perm = perm});
}

Value cumsum(Value x, int64_t axis, bool exclusive, bool reverse, Where where) {
  axis = axis_of("cumsum", axis, x);
  return unary_op("cumsum", x, where, CumsumAttrs{.axis = axis, .exclusive = exclusive, .reverse = reverse});
}

Value repeat(Value x, int64_t axis, int64_t times, Where where) {
  axis = axis_of("repeat", axis, x);
  if (times < 1) throw InvalidArgument("[repeat] bad times, got {}, expected at least 1", times);
  Shape spread = x.shape(), result = x.shape();
  spread.insert(spread.begin() + axis + 1, 1);
  Value y = reshape(x, spread, where);
  spread[axis + 1] = times;
  y = unary_op("broadcast_to", y, where, BroadcastAttrs{.shape = spread});
  result[axis] *= times;
  return reshape(y, result, where);
}

std::vector<Value> split(Value x, int64_t parts, int64_t axis, Where where) {
  axis = axis_of("split", axis, x);
  const Shape shape = x.shape();
  if (parts < 1 || shape[axis] % parts != 0) {
    throw InvalidArgument("[split] parts are not equal, got {} of axis {} of {}, expected a divisor of {}", parts, axis,
                          print(x.type()), shape[axis]);
  }
  const int64_t size = shape[axis] / parts;
  std::vector<Value> result;
  for (int64_t part = 0; part < parts; ++part) {
    Shape begin(shape.size(), 0), end = shape;
    begin[axis] = part * size;
    end[axis] = begin[axis] + size;
    result.push_back(unary_op("slice", x, where, SliceAttrs{.begin = begin, .end = end}));
  }
  return result;
}

TopK top_k(Value x, int64_t k, Where where) {
  const std::vector<Value> results = apply_all("top_k", {x}, TopKAttrs{.k = k}, where);
  return {results[0], results[1]};
}

Value take_along(Value x, Value indices, Where where) { return apply("take_along", {x, indices}, Attrs(), where); }

Value put_along(Value d, Value indices, int64_t size, Where where) {
  return apply("put_along", {d, indices}, PutAlongAttrs{.size = size}, where);
}

Value scatter_add(Value x, Value ids, Value updates, Where where) {
  builder_of("scatter_add", {x, ids, updates});
  const DType dtype = promote(x.dtype(), updates.dtype());
  return apply("scatter_add", {cast(x, dtype, where), ids, cast(updates, dtype, where)}, Attrs(), where);
}

Value rotary(Value x, double base, int64_t begin, int64_t heads, Where where) {
  return unary_op("rotary", x, where, RotaryAttrs{.base = base, .begin = begin, .heads = heads});
}

Value reduce_sum(Value x, std::vector<int64_t> axes, bool keep_dims, Where where) {
  return reduce(Reduce::sum, x, std::move(axes), keep_dims, /*mean=*/false, where);
}

Value reduce_mean(Value x, std::vector<int64_t> axes, bool keep_dims, Where where) {
  return reduce(Reduce::sum, x, std::move(axes), keep_dims, /*mean=*/true, where);
}

Value weighted_mean(Value x, Value weights, Where where) {
  builder_of("weighted_mean", {x, weights});
  if (!is_float(x.dtype()) || !is_float(weights.dtype()) || x.shape() != weights.shape()) {
    throw InvalidArgument("[weighted_mean] weights do not fit, got {} for {}, expected floats of one shape",
                          print(weights.type()), print(x.type()));
  }
  const Value sum = reduce_sum(weights, {}, false, where);
  const Type number{sum.dtype(), {}};
  // Chosen before the division, so that neither the mean nor its gradients are 0 / 0.
  const Value is_zero = equal(sum, constant(sum.builder(), 0, number), where);
  const Value divisor = select(is_zero, constant(sum.builder(), 1, number), sum, where);
  return div(reduce_sum(mul(x, weights, where), {}, false, where), divisor, where);
}

Value reduce_max(Value x, std::vector<int64_t> axes, bool keep_dims, Where where) {
  return reduce(Reduce::max, x, std::move(axes), keep_dims, /*mean=*/false, where);
}

Value reduce_min(Value x, std::vector<int64_t> axes, bool keep_dims, Where where) {
  return reduce(Reduce::min, x, std::move(axes), keep_dims, /*mean=*/false, where);
}

Value operator/(double number, Operand x) {
  Builder& builder = builder_of("div", {x.value});
  const Restored at(builder.source, source_location(x.where));
  return div(constant(builder, number, Type{x.value.dtype(), {}}), x.value, x.where);
}

}  // namespace partita
