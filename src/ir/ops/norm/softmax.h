#pragma once
// What softmax, log_softmax, cross_entropy and their gradients share: rows along the last dimension.

#include <cmath>
#include <limits>

#include "ir/ops/support.h"
#include "ir/ops/wide.h"

namespace partita {

/// The numbers of rows and of elements in each.
struct Rows {
  int64_t count = 0, size = 0;
};
inline Rows rows_of(const Shape& shape) {
  const int64_t size = shape.back();
  return {elements(Shape(shape.begin(), shape.end() - 1)), size};
}

/// `infer` of ops whose float operands all have one type and at least one dimension.
std::vector<Type> infer_rows(std::string_view op, const OpCall& call, size_t operands);

/// Largest element of a row and the sum of exp(x - largest); no overflow at any finite logits.
template <class T>
std::pair<double, double> largest_and_sum(const T* x, int64_t size) {
  double largest = -std::numeric_limits<double>::infinity(), sum = 0;
  for (int64_t z = 0; z < size; ++z) largest = std::max(largest, double(x[z]));
  for (int64_t z = 0; z < size; ++z) sum += std::exp(double(x[z]) - largest);
  return {largest, sum};
}

/// Reduction over the last dimension, which is kept with size 1.
Value reduce_row(const ExpandCall& call, Value x, Reduce kind);
/// `x` in another element type, or itself.
Value to_dtype(const ExpandCall& call, Value x, DType dtype);
/// x - max, exp of it and its sum, in the wide type: the start of every softmax that is cut.
struct Shifted {
  Value largest, difference, exponential, sum;
};
Shifted shift_row(const ExpandCall& call, Value x);

}  // namespace partita
