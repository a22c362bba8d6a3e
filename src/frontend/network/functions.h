#pragma once
// Functions over symbolic values, for networks written as a `construct`. Each node carries the source line of the call.
// Operands of different element types are promoted. All functions throw InvalidArgument for operands that do not fit.

#include "base/call_location.h"
#include "ir/graph/builder.h"

namespace partita {

using Where = CallLocation;

/// Adds a node of any registered op, by its name, to the network of the operands, which are taken without promotion; at
/// least one is required. Attributes are the op's defaults, a struct (`apply("gelu", {x}, GeluAttrs{true})`) or text
/// (`apply("gelu", {x}, "{approximate=true}")`). `apply` returns the node's first result, `apply_all` all of them in
/// the op's order. Throws InvalidArgument for an unknown op or attribute, with the nearest name, for text in another
/// form, for attributes of another op, and for operands that are empty, of another network or rejected by the op. Most
/// functions below add one of these ops, with operands promoted to one type and axes that may count from the end.
Value apply(std::string_view op, const std::vector<Value>& operands, const Attrs& attrs = {},
            Where where = Where::current());
Value apply(std::string_view op, const std::vector<Value>& operands, std::string_view attrs,
            Where where = Where::current());
std::vector<Value> apply_all(std::string_view op, const std::vector<Value>& operands, const Attrs& attrs = {},
                             Where where = Where::current());

/// Adds a node of an op of one operand, or of two that are promoted to one type. Throw as `apply` does.
Value unary_op(std::string_view op, Value x, const Where& where, const Attrs& attrs = {});
Value binary_op(std::string_view op, Value a, Value b, const Where& where, const Attrs& attrs = {});

/// Elementwise functions, in the broadcast shape and the promoted type of their operands; the maximum and the minimum
/// of a NaN and a number are NaN. div and the functions of one operand take floats only. Throw InvalidArgument for
/// other types and for shapes that do not broadcast.
inline Value add(Value a, Value b, Where where = Where::current()) { return binary_op("add", a, b, where); }
inline Value sub(Value a, Value b, Where where = Where::current()) { return binary_op("sub", a, b, where); }
inline Value mul(Value a, Value b, Where where = Where::current()) { return binary_op("mul", a, b, where); }
inline Value div(Value a, Value b, Where where = Where::current()) { return binary_op("div", a, b, where); }
inline Value maximum(Value a, Value b, Where where = Where::current()) { return binary_op("maximum", a, b, where); }
inline Value minimum(Value a, Value b, Where where = Where::current()) { return binary_op("minimum", a, b, where); }
/// The maximum and the minimum with another gradient: of equal operands each has half of it. That of `maximum` and
/// `minimum` goes to the first.
Value shared_maximum(Value a, Value b, Where where = Where::current());
Value shared_minimum(Value a, Value b, Where where = Where::current());
inline Value neg(Value x, Where where = Where::current()) { return unary_op("neg", x, where); }
inline Value square(Value x, Where where = Where::current()) { return unary_op("square", x, where); }
inline Value exp(Value x, Where where = Where::current()) { return unary_op("exp", x, where); }
inline Value log(Value x, Where where = Where::current()) { return unary_op("log", x, where); }
inline Value sqrt(Value x, Where where = Where::current()) { return unary_op("sqrt", x, where); }
inline Value rsqrt(Value x, Where where = Where::current()) { return unary_op("rsqrt", x, where); }
inline Value abs(Value x, Where where = Where::current()) { return unary_op("abs", x, where); }
inline Value relu(Value x, Where where = Where::current()) { return unary_op("relu", x, where); }
inline Value tanh(Value x, Where where = Where::current()) { return unary_op("tanh", x, where); }
inline Value sigmoid(Value x, Where where = Where::current()) { return unary_op("sigmoid", x, where); }
/// Returns x times the standard normal distribution function of x or, if `approximate`, GPT-2's tanh approximation of
/// it. Throws InvalidArgument unless x is a float.
Value gelu(Value x, bool approximate = false, Where where = Where::current());
/// Returns x * sigmoid(x). Throws InvalidArgument unless x is a float.
inline Value silu(Value x, Where where = Where::current()) { return unary_op("silu", x, where); }
/// Returns log(1 + exp(x)) without overflow. Throws InvalidArgument unless x is a float.
inline Value softplus(Value x, Where where = Where::current()) { return unary_op("softplus", x, where); }
/// Returns the error function of x. Throws InvalidArgument unless x is a float.
inline Value erf(Value x, Where where = Where::current()) { return unary_op("erf", x, where); }
/// One minus the error function of x, without cancellation, and the number whose error function is x.
inline Value erfc(Value x, Where where = Where::current()) { return unary_op("erfc", x, where); }
inline Value erfinv(Value x, Where where = Where::current()) { return unary_op("erfinv", x, where); }
/// Return exp(x) - 1 and log(1 + x), precise near 0. Throw InvalidArgument unless x is a float.
inline Value expm1(Value x, Where where = Where::current()) { return unary_op("expm1", x, where); }
inline Value log1p(Value x, Where where = Where::current()) { return unary_op("log1p", x, where); }
/// Trigonometric functions, in radians, and their inverses. Throw InvalidArgument unless x is a float.
inline Value sin(Value x, Where where = Where::current()) { return unary_op("sin", x, where); }
inline Value cos(Value x, Where where = Where::current()) { return unary_op("cos", x, where); }
inline Value tan(Value x, Where where = Where::current()) { return unary_op("tan", x, where); }
inline Value asin(Value x, Where where = Where::current()) { return unary_op("asin", x, where); }
inline Value acos(Value x, Where where = Where::current()) { return unary_op("acos", x, where); }
inline Value atan(Value x, Where where = Where::current()) { return unary_op("atan", x, where); }
/// Returns the angle of the point (x, y), from -pi to pi, in the broadcast shape and the promoted type. Throws
/// InvalidArgument if neither is a float, and for shapes that do not broadcast.
inline Value atan2(Value y, Value x, Where where = Where::current()) { return binary_op("atan2", y, x, where); }
/// Hyperbolic functions and their inverses. Throw InvalidArgument unless x is a float.
inline Value sinh(Value x, Where where = Where::current()) { return unary_op("sinh", x, where); }
inline Value cosh(Value x, Where where = Where::current()) { return unary_op("cosh", x, where); }
inline Value asinh(Value x, Where where = Where::current()) { return unary_op("asinh", x, where); }
inline Value acosh(Value x, Where where = Where::current()) { return unary_op("acosh", x, where); }
inline Value atanh(Value x, Where where = Where::current()) { return unary_op("atanh", x, where); }
/// The logarithm of the magnitude of the gamma function, its derivative, and the derivatives of that from the first
/// on. Throw InvalidArgument unless x is a float, and for an order below 1 or above 100.
inline Value lgamma(Value x, Where where = Where::current()) { return unary_op("lgamma", x, where); }
inline Value digamma(Value x, Where where = Where::current()) { return unary_op("digamma", x, where); }
Value polygamma(Value x, int64_t order, Where where = Where::current());
/// Returns x to the power of a number; a negative x to a fractional power is NaN. Throws InvalidArgument unless x is a
/// float and the exponent finite.
Value pow(Value x, double exponent, Where where = Where::current());
/// Returns a to the power of b, in the broadcast shape and the promoted type. Powers of integers wrap around if they
/// are too large; those with a negative exponent lose their fraction (0 for a = 0). A negative float to a fractional
/// power is NaN. Throws InvalidArgument if both are bools, and for shapes that do not broadcast.
inline Value pow(Value a, Value b, Where where = Where::current()) { return binary_op("power", a, b, where); }
/// Return a / b rounded down and the matching remainder, which has the sign of b, in the broadcast shape and the
/// promoted type. An integer a divided by 0 gives 0 if a is 0, else the largest or smallest number of the type, with
/// the sign of a; the remainder is a. A float divided by 0 gives an infinity or NaN, and NaN as the remainder. Throw
/// InvalidArgument if both are bools, and for shapes that do not broadcast.
inline Value floor_div(Value a, Value b, Where where = Where::current()) { return binary_op("floor_div", a, b, where); }
inline Value remainder(Value a, Value b, Where where = Where::current()) { return binary_op("remainder", a, b, where); }
/// Comparisons of the elements of a and b, promoted to one type: bools in the broadcast shape. Of a NaN and anything,
/// only `not_equal` holds. Throw InvalidArgument for shapes that do not broadcast.
inline Value equal(Value a, Value b, Where where = Where::current()) { return binary_op("equal", a, b, where); }
inline Value not_equal(Value a, Value b, Where where = Where::current()) { return binary_op("not_equal", a, b, where); }
inline Value less(Value a, Value b, Where where = Where::current()) { return binary_op("less", a, b, where); }
inline Value less_equal(Value a, Value b, Where where = Where::current()) {
  return binary_op("less_equal", a, b, where);
}
inline Value greater(Value a, Value b, Where where = Where::current()) { return binary_op("greater", a, b, where); }
Value greater_equal(Value a, Value b, Where where = Where::current());
/// Logical functions of bools, in the broadcast shape. Throw InvalidArgument for other types and for shapes that do not
/// broadcast.
inline Value logical_not(Value x, Where where = Where::current()) { return unary_op("logical_not", x, where); }
Value logical_and(Value a, Value b, Where where = Where::current());
Value logical_or(Value a, Value b, Where where = Where::current());
/// Returns a where the condition holds, else b, in the broadcast shape of all three and the promoted type of a and b.
/// Throws InvalidArgument if the condition is no bool or the shapes do not broadcast.
Value select(Value condition, Value a, Value b, Where where = Where::current());
/// Returns -y log(sigmoid(x)) - (1 - y) log(1 - sigmoid(x)) per element, from logits x and labels y in [0, 1], which
/// are not checked, in the broadcast shape and the promoted type. Stays precise for large logits. Throws
/// InvalidArgument if neither is a float or the shapes do not broadcast.
Value binary_cross_entropy(Value logits, Value labels, Where where = Where::current());
/// Softmax over the last dimension, and its logarithm, in the shape and type of x. Throw InvalidArgument unless x is a
/// float with a dimension.
inline Value softmax(Value x, Where where = Where::current()) { return unary_op("softmax", x, where); }
inline Value log_softmax(Value x, Where where = Where::current()) { return unary_op("log_softmax", x, where); }
/// Returns x * factor + offset. Throws InvalidArgument unless x is a float.
Value scale(Value x, double factor, double offset = 0, Where where = Where::current());
/// Returns x in another element type, or x itself if it has that type. Throws InvalidArgument if x is empty.
Value cast(Value x, DType dtype, Where where = Where::current());
/// Returns the matrix products a b over the last two dimensions, in the promoted type. `transpose_a` and `transpose_b`
/// swap these two dimensions of an operand first. The leading dimensions of a and b are equal, or only one operand has
/// any. Throws InvalidArgument for other shapes and if neither operand is a float.
Value matmul(Value a, Value b, bool transpose_a = false, bool transpose_b = false, Where where = Where::current());
Value reshape(Value x, const Shape& shape, Where where = Where::current());
/// Reshapes [n, a, b, ..] to [n, a * b * ..]. Throws InvalidArgument for fewer than two dimensions.
Value flatten(Value x, Where where = Where::current());
Value transpose(Value x, const std::vector<int64_t>& perm, Where where = Where::current());
/// Returns, for each element of x, the sum of the elements up to and including it along an axis, in the type of x:
/// without the element itself if `exclusive`, of it and those after it if `reverse`. A negative axis counts from the
/// end. Throws InvalidArgument for bools and an axis outside x.
Value cumsum(Value x, int64_t axis, bool exclusive = false, bool reverse = false, Where where = Where::current());
/// Returns x with each element `times` times in a row along an axis, whose size becomes size * times. A negative axis
/// counts from the end. Throws InvalidArgument for an axis outside x and `times` below 1.
Value repeat(Value x, int64_t axis, int64_t times, Where where = Where::current());
/// Returns `parts` slices of x of equal size along an axis, in order. A negative axis counts from the end. Throws
/// InvalidArgument for an axis outside x, and for `parts` that are below 1 or do not divide the size of the axis.
std::vector<Value> split(Value x, int64_t parts, int64_t axis, Where where = Where::current());
/// The k largest elements over the last dimension, in descending order, and their indices (i32), both [.., k]. A NaN
/// counts as the largest; the first of equal elements comes first.
struct TopK {
  Value values, indices;
};
/// Returns the k largest elements over the last dimension of x, and their indices, as TopK says. Throws InvalidArgument
/// if k is below 1 or above the size of that dimension, which an i32 must hold.
TopK top_k(Value x, int64_t k, Where where = Where::current());
/// Returns x[.., indices[.., k]] for floats x[.., z] and integers indices[.., k] (i32 or i64) with equal leading
/// dimensions: [.., k]. Throws InvalidArgument for other shapes and types; an index outside [0, z) is an error at run
/// time.
Value take_along(Value x, Value indices, Where where = Where::current());
/// Returns, for floats d[.., k] and integers indices[.., k] (i32 or i64), the [.., size] whose element z is the sum of
/// those d[.., k] whose index is z. Throws InvalidArgument for other shapes and types; an index outside [0, size) is an
/// error at run time.
Value put_along(Value d, Value indices, int64_t size, Where where = Where::current());
/// Returns x[rows, z] with, added to each row v, the sum of the rows of updates[.., z] whose id in ids[..] (i32 or i64)
/// is v, in the promoted type of x and the updates, a float. Throws InvalidArgument for other shapes and types; an id
/// outside [0, rows) is an error at run time.
Value scatter_add(Value x, Value ids, Value updates, Where where = Where::current());
/// Returns x[.., s, d], a float, with rotary position embedding: at position p of [0, s), elements i and i + d/2 are
/// rotated as a pair by the angle (begin + p) * base^(-2i/d). With several heads, x[.., s, (heads d)], each head is
/// rotated like this. Throws InvalidArgument for other types, fewer than two dimensions, an odd d, a base that is not
/// finite and above 0, begin < 0, and `heads` that are below 1 or do not divide the last dimension.
Value rotary(Value x, double base = 10000, int64_t begin = 0, int64_t heads = 1, Where where = Where::current());
/// Reductions over the given axes, or over all if `axes` is empty, in the type of x; `keep_dims` keeps the reduced axes
/// with size 1. Negative axes count from the end. Throw InvalidArgument for an axis outside x or given twice, a mean of
/// other numbers than floats (unless of one element each), and a maximum or minimum over no elements.
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
/// Returns x times 1 / `number`, which is infinite for 0. Throws InvalidArgument unless x is a float.
inline Value operator/(Operand x, double number) { return scale(x.value, 1 / number, 0, x.where); }
/// Returns `number`, converted to the type of x, divided by x, elementwise. Throws InvalidArgument unless x is a float.
Value operator/(double number, Operand x);

}  // namespace partita
