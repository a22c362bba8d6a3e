#include "network/functions.h"

#include <numeric>

#include "network/layer.h"
#include "network/restored.h"

namespace partita {
namespace {

/// The builder of all operands.
Builder& builder_of(std::string_view op, std::initializer_list<Value> operands) {
  Builder* builder = nullptr;
  for (const Value& value : operands) {
    if (!value || (builder != nullptr && builder != &value.builder())) {
      throw InvalidArgument(fmt::format("[{}] bad operand, got {}, expected a value of the network", op,
                                        value ? "a value of another network" : "an empty value"));
    }
    builder = &value.builder();
  }
  return *builder;
}

Value unary(std::string_view op, Value x, const Where& where, const FieldTexts& fields = {}) {
  Builder& builder = builder_of(op, {x});
  const Restored at(builder.source, source_line(where));
  return builder.apply_fields(op, {x}, fields);
}

Value binary(std::string_view op, Value a, Value b, const Where& where, const FieldTexts& fields = {}) {
  Builder& builder = builder_of(op, {a, b});
  const DType dtype = promote(a.dtype(), b.dtype());
  const Value left = cast(a, dtype, where), right = cast(b, dtype, where);
  const Restored at(builder.source, source_line(where));
  return builder.apply_fields(op, {left, right}, fields);
}

Value reduce(std::string_view kind, Value x, std::vector<int64_t> axes, bool keep_dims, bool mean, const Where& where) {
  builder_of("reduce", {x});
  const int rank = x.type().rank();
  if (axes.empty()) {
    axes.resize(rank);
    std::iota(axes.begin(), axes.end(), 0);
  }
  double count = 1;
  for (int64_t& axis : axes) {
    if (axis < 0) axis += rank;
    if (axis >= 0 && axis < rank) count *= static_cast<double>(x.shape()[axis]);  // others: the op refuses
  }
  FieldTexts fields{{"kind", std::string(kind)}, {"axes", to_text(axes)}, {"keep_dims", to_text(keep_dims)}};
  if (mean) fields.emplace_back("scale", to_text(1 / count));
  return unary("reduce", x, where, fields);
}

}  // namespace

Value add(Value a, Value b, Where where) { return binary("add", a, b, where); }
Value sub(Value a, Value b, Where where) { return binary("sub", a, b, where); }
Value mul(Value a, Value b, Where where) { return binary("mul", a, b, where); }
Value div(Value a, Value b, Where where) { return binary("div", a, b, where); }
Value maximum(Value a, Value b, Where where) { return binary("maximum", a, b, where); }
Value minimum(Value a, Value b, Where where) { return binary("minimum", a, b, where); }
Value neg(Value x, Where where) { return unary("neg", x, where); }
Value square(Value x, Where where) { return unary("square", x, where); }
Value exp(Value x, Where where) { return unary("exp", x, where); }
Value log(Value x, Where where) { return unary("log", x, where); }
Value sqrt(Value x, Where where) { return unary("sqrt", x, where); }
Value rsqrt(Value x, Where where) { return unary("rsqrt", x, where); }
Value abs(Value x, Where where) { return unary("abs", x, where); }
Value relu(Value x, Where where) { return unary("relu", x, where); }
Value tanh(Value x, Where where) { return unary("tanh", x, where); }
Value sigmoid(Value x, Where where) { return unary("sigmoid", x, where); }
Value softmax(Value x, Where where) { return unary("softmax", x, where); }
Value log_softmax(Value x, Where where) { return unary("log_softmax", x, where); }

Value scale(Value x, double factor, double offset, Where where) {
  return unary("scale", x, where, {{"scale", to_text(factor)}, {"bias", to_text(offset)}});
}

Value cast(Value x, DType dtype, Where where) {
  builder_of("cast", {x});
  return x.dtype() == dtype ? x : unary("cast", x, where, {{"dtype", to_text(dtype)}});
}

Value matmul(Value a, Value b, bool transpose_a, bool transpose_b, Where where) {
  return binary("matmul", a, b, where, {{"transpose_a", to_text(transpose_a)}, {"transpose_b", to_text(transpose_b)}});
}

Value reshape(Value x, const Shape& shape, Where where) {
  return unary("reshape", x, where, {{"shape", to_text(shape)}});
}

Value flatten(Value x, Where where) {
  builder_of("flatten", {x});
  const Shape shape = x.shape();
  if (shape.size() < 2) {
    throw InvalidArgument(fmt::format("[flatten] too few dimensions, got {}, expected [n, ..]", print(x.type())));
  }
  const int64_t rest = elements(Shape(shape.begin() + 1, shape.end()));
  return reshape(x, {shape[0], rest}, where);
}

Value transpose(Value x, const std::vector<int64_t>& perm, Where where) {
  return unary("transpose", x, where, {{"perm", to_text(perm)}});
}

Value reduce_sum(Value x, std::vector<int64_t> axes, bool keep_dims, Where where) {
  return reduce("sum", x, std::move(axes), keep_dims, /*mean=*/false, where);
}

Value reduce_mean(Value x, std::vector<int64_t> axes, bool keep_dims, Where where) {
  return reduce("sum", x, std::move(axes), keep_dims, /*mean=*/true, where);
}

Value reduce_max(Value x, std::vector<int64_t> axes, bool keep_dims, Where where) {
  return reduce("max", x, std::move(axes), keep_dims, /*mean=*/false, where);
}

Value reduce_min(Value x, std::vector<int64_t> axes, bool keep_dims, Where where) {
  return reduce("min", x, std::move(axes), keep_dims, /*mean=*/false, where);
}

Value operator/(double number, Operand x) {
  Builder& builder = builder_of("div", {x.value});
  const Restored at(builder.source, source_line(x.where));
  return div(constant(builder, number, Type{x.value.dtype(), {}}), x.value, x.where);
}

}  // namespace partita
