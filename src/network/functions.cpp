#include "network/functions.h"

#include <numeric>

#include "network/layer.h"

namespace partita {
namespace {

/// The source line of the user's call, for as long as this lives.
class At {
 public:
  At(Builder& builder, const Where& where) : builder_(builder), outer_(builder.source) {
    builder.source = source_line(where);
  }
  ~At() { builder_.source = outer_; }
  At(const At&) = delete;
  At& operator=(const At&) = delete;

 private:
  Builder& builder_;
  SourceLine outer_;
};

Value unary(std::string_view op, Value x, const Where& where, const FieldTexts& fields = {}) {
  const At at(x.builder(), where);
  return x.builder().apply_fields(op, {x}, fields);
}

Value promoted(Value x, DType dtype) {
  return x.dtype() == dtype ? x : x.builder().apply_fields("cast", {x}, {{"dtype", to_text(dtype)}});
}

Value binary(std::string_view op, Value a, Value b, const Where& where, const FieldTexts& fields = {}) {
  const At at(a.builder(), where);
  const DType dtype = promote(a.dtype(), b.dtype());
  return a.builder().apply_fields(op, {promoted(a, dtype), promoted(b, dtype)}, fields);
}

Value reduce(std::string_view kind, Value x, std::vector<int64_t> axes, bool keep_dims, bool mean, const Where& where) {
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
Value neg(Value x, Where where) { return unary("neg", x, where); }
Value square(Value x, Where where) { return unary("square", x, where); }
Value exp(Value x, Where where) { return unary("exp", x, where); }
Value log(Value x, Where where) { return unary("log", x, where); }
Value sqrt(Value x, Where where) { return unary("sqrt", x, where); }
Value abs(Value x, Where where) { return unary("abs", x, where); }
Value relu(Value x, Where where) { return unary("relu", x, where); }
Value tanh(Value x, Where where) { return unary("tanh", x, where); }
Value sigmoid(Value x, Where where) { return unary("sigmoid", x, where); }
Value softmax(Value x, Where where) { return unary("softmax", x, where); }
Value log_softmax(Value x, Where where) { return unary("log_softmax", x, where); }

Value scale(Value x, double factor, double offset, Where where) {
  return unary("scale", x, where, {{"scale", to_text(factor)}, {"bias", to_text(offset)}});
}

Value matmul(Value a, Value b, bool transpose_a, bool transpose_b, Where where) {
  return binary("matmul", a, b, where, {{"transpose_a", to_text(transpose_a)}, {"transpose_b", to_text(transpose_b)}});
}

Value reshape(Value x, const Shape& shape, Where where) {
  return unary("reshape", x, where, {{"shape", to_text(shape)}});
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

}  // namespace partita
