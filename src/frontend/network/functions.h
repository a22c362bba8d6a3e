#pragma once
// Functions over symbolic values, for networks written as a `construct`. Each node carries the source line of the call.
// Operands of different element types are promoted. All functions throw InvalidArgument for operands that do not fit.

#include "base/call_location.h"
#include "ir/graph/builder.h"

namespace partita {

using Where = CallLocation;

/// Adds any op of the registry by name. Operands are taken unchanged; attributes are the op's defaults, a struct
/// (`apply("gelu", {x}, GeluAttrs{true})`) or text (`apply("gelu", {x}, "{approximate=true}")`). At least one operand
/// is required. `apply` returns the first result, `apply_all` all of them. Throws InvalidArgument for an unknown op or
/// attribute, with the nearest name, for attributes of another op and for operands that are empty, of another network
/// or rejected by the op. The functions below are also ops, with operands promoted to one type and axes that may count
/// from the end.
Value apply(std::string_view op, const std::vector<Value>& operands, const Attrs& attrs = {},
            Where where = Where::current());
Value apply(std::string_view op, const std::vector<Value>& operands, std::string_view attrs,
            Where where = Where::current());
std::vector<Value> apply_all(std::string_view op, const std::vector<Value>& operands, const Attrs& attrs = {},
                             Where where = Where::current());

/// Elementwise functions, in the broadcast shape of their operands. div and the functions of one operand take floats
/// only. Throw InvalidArgument for other types and for shapes that do not broadcast.
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
/// Returns x times the normal distribution function of x, or GPT-2's tanh approximation of it. Throws InvalidArgument
/// unless x is a float.
Value gelu(Value x, bool approximate = false, Where where = Where::current());
/// Returns x * sigmoid(x). Throws InvalidArgument unless x is a float.
Value silu(Value x, Where where = Where::current());
/// Returns log(1 + exp(x)) without overflow. Throws InvalidArgument unless x is a float.
Value softplus(Value x, Where where = Where::current());
/// Returns the error function of x. Throws InvalidArgument unless x is a float.
Value erf(Value x, Where where = Where::current());
/// Returns x to the power of a number; a negative x to a fractional power is NaN. Throws InvalidArgument unless x is a
/// float and the exponent finite.
Value pow(Value x, double exponent, Where where = Where::current());
/// Returns a to the power of b, in the broadcast shape. Powers of integers are exact integers; a negative exponent
/// drops the fraction. A negative float to a fractional power is NaN. Throws InvalidArgument for bools and shapes that
/// do not broadcast.
Value pow(Value a, Value b, Where where = Where::current());
/// Return a / b rounded down and the matching remainder, which has the sign of b, in the broadcast shape and the type
/// of the operands. An integer divided by 0 gives 0, or the largest or smallest number of its type, with itself as the
/// remainder. A float divided by 0 gives an infinity or NaN, and NaN as the remainder. Throw InvalidArgument for bools
/// and shapes that do not broadcast.
Value floor_div(Value a, Value b, Where where = Where::current());
Value remainder(Value a, Value b, Where where = Where::current());
/// Comparisons: a bool in the broadcast shape. Only `not_equal` holds for a NaN. Throw InvalidArgument for shapes that
/// do not broadcast.
Value equal(Value a, Value b, Where where = Where::current());
Value not_equal(Value a, Value b, Where where = Where::current());
Value less(Value a, Value b, Where where = Where::current());
Value less_equal(Value a, Value b, Where where = Where::current());
Value greater(Value a, Value b, Where where = Where::current());
Value greater_equal(Value a, Value b, Where where = Where::current());
/// Logical functions of bools, in the broadcast shape. Throw InvalidArgument for other types and for shapes that do not
/// broadcast.
Value logical_not(Value x, Where where = Where::current());
Value logical_and(Value a, Value b, Where where = Where::current());
Value logical_or(Value a, Value b, Where where = Where::current());
/// Returns a where the condition holds, else b, in the broadcast shape of all three. Throws InvalidArgument if the
/// condition is no bool or the shapes do not broadcast.
Value select(Value condition, Value a, Value b, Where where = Where::current());
/// Returns -y log(sigmoid(x)) - (1 - y) log(1 - sigmoid(x)) per element, from logits x and labels y in [0, 1], in the
/// broadcast shape, a float. Stays precise for large logits. Throws InvalidArgument if neither is a float or the shapes
/// do not broadcast.
Value binary_cross_entropy(Value logits, Value labels, Where where = Where::current());
/// Softmax and its logarithm over the last dimension. Throw InvalidArgument unless x is a float with a dimension.
Value softmax(Value x, Where where = Where::current());
Value log_softmax(Value x, Where where = Where::current());
/// Returns x * factor + offset. Throws InvalidArgument unless x is a float.
Value scale(Value x, double factor, double offset = 0, Where where = Where::current());
/// Returns x in another element type, or x itself if it has that type. Throws InvalidArgument if x is empty.
Value cast(Value x, DType dtype, Where where = Where::current());
/// Returns the matrix product over the last two dimensions. The flags transpose an operand first. The leading
/// dimensions are equal, or only one operand has any. Throws InvalidArgument for other shapes and if neither operand is
/// a float.
Value matmul(Value a, Value b, bool transpose_a = false, bool transpose_b = false, Where where = Where::current());
Value reshape(Value x, const Shape& shape, Where where = Where::current());
/// Reshapes [n, a, b, ..] to [n, a * b * ..]. Throws InvalidArgument for fewer than two dimensions.
Value flatten(Value x, Where where = Where::current());
Value transpose(Value x, const std::vector<int64_t>& perm, Where where = Where::current());
/// Returns the sums of the elements up to each one along an axis, without the element itself if `exclusive`, from the
/// end if `reverse`, in the type of x. A negative axis counts from the end. Throws InvalidArgument for bools and an
/// axis outside x.
Value cumsum(Value x, int64_t axis, bool exclusive = false, bool reverse = false, Where where = Where::current());
/// Repeats each element `times` times along an axis, whose size becomes size * times. A negative axis counts from the
/// end. Throws InvalidArgument for an axis outside x and `times` below 1.
Value repeat(Value x, int64_t axis, int64_t times, Where where = Where::current());
/// Splits x into equal parts along an axis, in order. A negative axis counts from the end. Throws InvalidArgument for
/// an axis outside x, and for `parts` that are below 1 or do not divide the size.
std::vector<Value> split(Value x, int64_t parts, int64_t axis, Where where = Where::current());
/// The k largest elements over the last dimension, in descending order, and their indices (i32), both [.., k]. A NaN
/// counts as the largest; the first of equal elements comes first.
struct TopK {
  Value values, indices;
};
/// Returns the k largest elements and their indices. Throws InvalidArgument if k is below 1 or above the last
/// dimension.
TopK top_k(Value x, int64_t k, Where where = Where::current());
/// Returns x[.., indices[.., k]] for x[.., z] and integer indices[.., k]: [.., k]. Throws InvalidArgument for other
/// shapes and types; an index outside [0, z) is an error at run time.
Value take_along(Value x, Value indices, Where where = Where::current());
/// Returns, for d[.., k] and integer indices[.., k], the [.., size] whose element z is the sum of the d whose index is
/// z. Throws InvalidArgument for other shapes and types; an index outside [0, size) is an error at run time.
Value put_along(Value d, Value indices, int64_t size, Where where = Where::current());
/// Returns x[v, z] plus, in row v, the sum of the rows of updates[.., z] whose ids[..] is v. Throws InvalidArgument for
/// other shapes and types; an id outside [0, v) is an error at run time.
Value scatter_add(Value x, Value ids, Value updates, Where where = Where::current());
/// Returns the rotary position embedding of x[.., s, d], a float: the pairs (i, i + d/2) rotated by (begin + s) *
/// base^(-2i/d). With several heads, x[.., s, (heads d)], each head is rotated like this. Throws InvalidArgument for
/// other types, fewer than two dimensions, an odd d, a base that is not above 0, begin < 0, and heads that do not
/// divide the last dimension.
Value rotary(Value x, double base = 10000, int64_t begin = 0, int64_t heads = 1, Where where = Where::current());
/// Reductions over the given axes, or over all if `axes` is empty. Negative axes count from the end. Throw
/// InvalidArgument for an axis outside x or given twice, a mean of other numbers than floats, and a maximum or minimum
/// over no elements.
Value reduce_sum(Value x, std::vector<int64_t> axes = {}, bool keep_dims = false, Where where = Where::current());
Value reduce_mean(Value x, std::vector<int64_t> axes = {}, bool keep_dims = false, Where where = Where::current());
/// Returns the sum of x times the weights divided by the sum of the weights, over all elements: a mean in which samples
/// count differently (weight 0: not at all). If the weights sum to 0, returns the sum of the products, which is 0 if
/// all weights are 0. Throws InvalidArgument unless both are floats of one shape.
Value weighted_mean(Value x, Value weights, Where where = Where::current());
Value reduce_max(Value x, std::vector<int64_t> axes = {}, bool keep_dims = false, Where where = Where::current());
Value reduce_min(Value x, std::vector<int64_t> axes = {}, bool keep_dims = false, Where where = Where::current());

/// A value and the source line of its use. Operators have no default arguments, but a conversion does.
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
/// Returns x times the reciprocal of `number`. Throws InvalidArgument unless x is a float.
inline Value operator/(Operand x, double number) { return scale(x.value, 1 / number, 0, x.where); }
/// Divides a constant by x. The constant is converted to the type of x. Throws InvalidArgument unless x is a float.
Value operator/(double number, Operand x);

}  // namespace partita
