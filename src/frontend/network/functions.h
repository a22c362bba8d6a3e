#pragma once
// Functions over symbolic values, for networks written as a `construct`. Each node carries the source
// line of the call. Operands of different element types are promoted.

#include "base/call_location.h"
#include "ir/graph/builder.h"

namespace partita {

using Where = CallLocation;

/// Any op of the registry, by name: operands as they are, and its default attributes or those given, as a struct
/// (`apply("gelu", {x}, GeluAttrs{true})`) or as graphs print them (`apply("gelu", {x}, "{approximate=true}")`). At
/// least one operand. `apply` takes the first result. Throws InvalidArgument with the nearest name of an op or an
/// attribute. The functions below are ops, too, with operands promoted to one type and axes counted from the end.
Value apply(std::string_view op, const std::vector<Value>& operands, const Attrs& attrs = {},
            Where where = Where::current());
Value apply(std::string_view op, const std::vector<Value>& operands, std::string_view attrs,
            Where where = Where::current());
std::vector<Value> apply_all(std::string_view op, const std::vector<Value>& operands, const Attrs& attrs = {},
                             Where where = Where::current());

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
/// x times the normal distribution function of x, or GPT-2's form of it with tanh; the shape of x, a float.
Value gelu(Value x, bool approximate = false, Where where = Where::current());
/// x * sigmoid(x); the shape of x, a float.
Value silu(Value x, Where where = Where::current());
/// log(1 + exp(x)), without overflow; the shape of x, a float.
Value softplus(Value x, Where where = Where::current());
/// The error function; the shape of x, a float.
Value erf(Value x, Where where = Where::current());
/// x to the power of a number; the shape of x, a float. A negative x has no fractional power: NaN. Refuses
/// an exponent that is not finite.
Value pow(Value x, double exponent, Where where = Where::current());
/// a to the power of b, in the broadcast shape. Powers of integers are integers: exact, and without the fraction that
/// a negative exponent makes. A negative float has no fractional power: NaN. Refuses bools.
Value pow(Value a, Value b, Where where = Where::current());
/// a / b rounded down, and the remainder that goes with it, which has the sign of b; in the broadcast shape and the
/// type of the operands. An integer divided by 0 gives 0, or the largest or smallest number of its type, with itself as
/// the remainder. Refuse bools.
Value floor_div(Value a, Value b, Where where = Where::current());
Value remainder(Value a, Value b, Where where = Where::current());
/// Comparisons: a bool in the broadcast shape. Nothing but `not_equal` holds for a NaN.
Value equal(Value a, Value b, Where where = Where::current());
Value not_equal(Value a, Value b, Where where = Where::current());
Value less(Value a, Value b, Where where = Where::current());
Value less_equal(Value a, Value b, Where where = Where::current());
Value greater(Value a, Value b, Where where = Where::current());
Value greater_equal(Value a, Value b, Where where = Where::current());
/// Of bools, in the broadcast shape; refuse other types.
Value logical_not(Value x, Where where = Where::current());
Value logical_and(Value a, Value b, Where where = Where::current());
Value logical_or(Value a, Value b, Where where = Where::current());
/// a where the condition, a bool, holds, else b; the broadcast shape of all three.
Value select(Value condition, Value a, Value b, Where where = Where::current());
/// -y log(sigmoid(x)) - (1 - y) log(1 - sigmoid(x)) per element, from logits x and labels y in [0, 1]; the
/// broadcast shape, a float. Large logits lose no digits.
Value binary_cross_entropy(Value logits, Value labels, Where where = Where::current());
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
/// Sums of the elements up to each one along an axis, without the element itself if `exclusive`, from the end
/// if `reverse`; the type of x. A negative axis counts from the end; refuses bools and an axis outside x.
Value cumsum(Value x, int64_t axis, bool exclusive = false, bool reverse = false, Where where = Where::current());
/// Each element `times` times along an axis, of which the size becomes size * times. A negative axis counts
/// from the end; refuses an axis outside x and less than one time.
Value repeat(Value x, int64_t axis, int64_t times, Where where = Where::current());
/// Equal parts of x along an axis, in order. A negative axis counts from the end; refuses an axis outside x
/// and a size that the number of parts does not divide.
std::vector<Value> split(Value x, int64_t parts, int64_t axis, Where where = Where::current());
/// The k largest elements over the last dimension, falling, and their indices (i32): both [.., k]. NaN is
/// largest; of equal elements the first comes first. Refuses k below 1 or above the last dimension.
struct TopK {
  Value values, indices;
};
TopK top_k(Value x, int64_t k, Where where = Where::current());
/// x[.., indices[.., k]] for x[.., z] and integer indices[.., k]: [.., k]. Refuses other shapes; an index
/// outside [0, z) is an error when it is met.
Value take_along(Value x, Value indices, Where where = Where::current());
/// For d[.., k] and integer indices[.., k], the [.., size] whose element z is the sum of the d whose index is z.
/// Refuses other shapes; an index outside [0, size) is an error when it is met.
Value put_along(Value d, Value indices, int64_t size, Where where = Where::current());
/// x[v, z] plus, in row v, the sum of the rows of updates[.., z] whose ids[..] is v: [v, z]. Refuses other
/// shapes; an id outside [0, v) is an error when it is met.
Value scatter_add(Value x, Value ids, Value updates, Where where = Where::current());
/// Rotary position embedding of x[.., s, d]: the pairs (i, i + d/2) turned by (begin + s) * base^(-2i/d); the
/// type of x, a float. Of several heads, x[.., s, (heads d)], each is turned so. Refuses fewer than two dimensions, an
/// odd d, a base that is not above 0, begin < 0, heads that do not divide the last dimension.
Value rotary(Value x, double base = 10000, int64_t begin = 0, int64_t heads = 1, Where where = Where::current());
/// Over the given axes (all when empty); negative axes count from the end.
Value reduce_sum(Value x, std::vector<int64_t> axes = {}, bool keep_dims = false, Where where = Where::current());
Value reduce_mean(Value x, std::vector<int64_t> axes = {}, bool keep_dims = false, Where where = Where::current());
/// The sum of x times the weights over the sum of the weights, of all elements: a mean in which samples count
/// differently (a weight of 0: not at all). Where the weights sum to 0, the sum of the products alone, which is 0 if
/// all weights are 0. Floats of one shape; refuses others.
Value weighted_mean(Value x, Value weights, Where where = Where::current());
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
