#pragma once
// Helpers shared by softmax, log_softmax, cross_entropy and their gradients: rows along the last dimension.

#include <cmath>
#include <limits>

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
/// Returns `x` cast to `dtype`, or `x` itself if it has that type.
Value to_dtype(const ExpandCall& call, Value x, DType dtype);
/// The start of every cut softmax: the maximum, x - max, its exponential and the sum of that, in the wide type.
struct Shifted {
  Value largest, difference, exponential, sum;
};
Shifted shift_row(const ExpandCall& call, Value x);

}  // namespace partita
