#pragma once
// Helpers shared by softmax, log_softmax, cross_entropy and their gradients: rows along the last dimension.

#include <cmath>
#include <limits>

#include "ir/ops/formula_gradient.h"
#include "ir/ops/kernels.h"
#include "ir/ops/wide.h"

namespace partita {

/// Number of rows, and of elements in each.
struct Rows {
  int64_t count = 0, size = 0;
};
inline Rows rows_of(const Shape& shape) {
  const int64_t size = shape.back();
  return {elements(Shape(shape.begin(), shape.end() - 1)), size};
}

/// Returns an op on rows x[.., z] with a result of their type. Its operands have one float type, at least one dimension
/// and equal shapes. With one operand, its gradient is the op NAME_grad of the result and its gradient; with two, the
/// op is linear in the second.
OpDef rows_op(const std::string& name, const char* summary, size_t operands);

/// Returns the largest element of a row and the sum of exp(x - largest); -infinity and 0 for an empty row. Does not
/// overflow at finite logits.
template <class T>
std::pair<double, double> largest_and_sum(const T* x, int64_t size) {
  double largest = -std::numeric_limits<double>::infinity(), sum = 0;
  for (int64_t z = 0; z < size; ++z) largest = std::max(largest, double(x[z]));
  for (int64_t z = 0; z < size; ++z) sum += std::exp(double(x[z]) - largest);
  return {largest, sum};
}

/// Returns the reduction over the last dimension, which is kept with size 1.
Value reduce_row(const ExpandCall& call, Value x, Reduce kind);
/// The start of every cut softmax: the maximum, x - max, its exponential and the sum of that, in the wide type.
struct Shifted {
  Value largest, difference, exponential, sum;
};
Shifted shift_row(const ExpandCall& call, Value x);

/// Returns the op NAME on rows of floats, and its gradient NAME_grad from y and d_y. `Form` has its parts, on numbers
/// of f64: y is `result` of x, the largest of its row and `of_sum` of the sum of exp(x - largest); d_x is `slope` of y,
/// d_y and the sum of `term` over the row. `expanded` and `expanded_grad` are the same on values in the wide type.
template <class Form>
std::vector<OpDef> softmax_family(const std::string& name, const char* summary, const char* grad_summary) {
  OpDef op = rows_op(name, summary, 1), grad = rows_op(name + "_grad", grad_summary, 2);
  op.expand = [](const ExpandCall& call) -> std::vector<Value> {
    return {to_dtype(call, Form::expanded(call, shift_row(call, call.inputs[0])), call.inputs[0].dtype())};
  };
  op.flops_per_point = 5;
  op.kernel = float_kernel<double>([]<class T>(Inputs in, Outputs out) {
    const Rows rows = rows_of(in[0].type.shape);
    const T* x = in[0].as<T>();
    T* y = out[0].as<T>();
    for (int64_t row = 0; row < rows.count; ++row, x += rows.size, y += rows.size) {
      const auto [largest, sum] = largest_and_sum(x, rows.size);
      const double of_sum = Form::of_sum(sum);
      for (int64_t z = 0; z < rows.size; ++z) y[z] = T(Form::result(double(x[z]), largest, of_sum));
    }
  });
  op.samples = {{{sample_of({4, 6})}}, {{sample_of({2, 3, 5})}}, {{sample_of({7})}}};
  grad.expand = [](const ExpandCall& call) -> std::vector<Value> {
    const DType dtype = call.inputs[0].dtype();
    const Value y = to_dtype(call, call.inputs[0], wide_type(dtype));
    const Value d_y = to_dtype(call, call.inputs[1], wide_type(dtype));
    return {to_dtype(call, Form::expanded_grad(call, y, d_y), dtype)};
  };
  grad.grad = by_formula(grad.expand);
  grad.flops_per_point = 4;
  grad.kernel = float_kernel<double>([]<class T>(Inputs in, Outputs out) {
    const Rows rows = rows_of(in[0].type.shape);
    const T *y = in[0].as<T>(), *d_y = in[1].as<T>();
    T* d_x = out[0].as<T>();
    for (int64_t row = 0; row < rows.count; ++row, y += rows.size, d_y += rows.size, d_x += rows.size) {
      double sum = 0;
      for (int64_t z = 0; z < rows.size; ++z) sum += Form::term(double(y[z]), double(d_y[z]));
      for (int64_t z = 0; z < rows.size; ++z) d_x[z] = T(Form::slope(double(y[z]), double(d_y[z]), sum));
    }
  });
  grad.samples = {{{sample_of({4, 6}), sample_of({4, 6})}}, {{sample_of({2, 3, 5}), sample_of({2, 3, 5})}}};
  return {op, grad};
}

}  // namespace partita
