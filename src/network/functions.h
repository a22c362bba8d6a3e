#pragma once
// Functions over symbolic values, for networks written as a `construct`. Each node carries the source
// line of the call. Operands of different element types are promoted.

#include <source_location>

#include "graph/builder.h"

namespace partita {

using Where = std::source_location;

Value add(Value a, Value b, Where where = Where::current());
Value sub(Value a, Value b, Where where = Where::current());
Value mul(Value a, Value b, Where where = Where::current());
Value div(Value a, Value b, Where where = Where::current());
Value maximum(Value a, Value b, Where where = Where::current());
Value minimum(Value a, Value b, Where where = Where::current());
Value neg(Value x, Where where = Where::current());
Value square(Value x, Where where = Where::current());
Value exp(Value x, Where where = Where::current());
Value log(Value x, Where where = Where::current());
Value sqrt(Value x, Where where = Where::current());
Value rsqrt(Value x, Where where = Where::current());
Value abs(Value x, Where where = Where::current());
Value relu(Value x, Where where = Where::current());
Value tanh(Value x, Where where = Where::current());
Value sigmoid(Value x, Where where = Where::current());
/// Over the last dimension.
Value softmax(Value x, Where where = Where::current());
Value log_softmax(Value x, Where where = Where::current());
/// x * factor + offset.
Value scale(Value x, double factor, double offset = 0, Where where = Where::current());
/// The value itself when it is of that type.
Value cast(Value x, DType dtype, Where where = Where::current());
/// Last two dimensions; `transpose_b` multiplies by the transpose of b.
Value matmul(Value a, Value b, bool transpose_a = false, bool transpose_b = false, Where where = Where::current());
Value reshape(Value x, const Shape& shape, Where where = Where::current());
/// [n, a, b, ..] -> [n, a * b * ..]
Value flatten(Value x, Where where = Where::current());
Value transpose(Value x, const std::vector<int64_t>& perm, Where where = Where::current());
/// Over the given axes (all when empty); negative axes count from the end.
Value reduce_sum(Value x, std::vector<int64_t> axes = {}, bool keep_dims = false, Where where = Where::current());
Value reduce_mean(Value x, std::vector<int64_t> axes = {}, bool keep_dims = false, Where where = Where::current());
Value reduce_max(Value x, std::vector<int64_t> axes = {}, bool keep_dims = false, Where where = Where::current());
Value reduce_min(Value x, std::vector<int64_t> axes = {}, bool keep_dims = false, Where where = Where::current());

/// A value and the line it is used on: operators have no default arguments, a conversion does.
struct Operand {
  Operand(Value v, Where w = Where::current()) : value(v), where(w) {}  // NOLINT: converts at the use
  Value value;
  Where where;
};

inline Value operator+(Operand a, Value b) { return add(a.value, b, a.where); }
inline Value operator-(Operand a, Value b) { return sub(a.value, b, a.where); }
inline Value operator*(Operand a, Value b) { return mul(a.value, b, a.where); }
inline Value operator/(Operand a, Value b) { return div(a.value, b, a.where); }
inline Value operator-(Operand x) { return neg(x.value, x.where); }
inline Value operator+(Operand x, double number) { return scale(x.value, 1, number, x.where); }
inline Value operator+(double number, Operand x) { return scale(x.value, 1, number, x.where); }
inline Value operator-(Operand x, double number) { return scale(x.value, 1, -number, x.where); }
inline Value operator-(double number, Operand x) { return scale(x.value, -1, number, x.where); }
inline Value operator*(Operand x, double number) { return scale(x.value, number, 0, x.where); }
inline Value operator*(double number, Operand x) { return scale(x.value, number, 0, x.where); }
/// A product with the reciprocal.
inline Value operator/(Operand x, double number) { return scale(x.value, 1 / number, 0, x.where); }
Value operator/(double number, Operand x);

}  // namespace partita
