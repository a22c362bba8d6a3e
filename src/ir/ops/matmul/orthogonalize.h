#pragma once
// The attributes of orthogonalize, and the numbers that its kernels share.

#include <cmath>

#include "base/fields.h"
#include "base/shape.h"

namespace partita {

struct OrthogonalizeAttrs {
  int64_t batch = 0;  // leading dimensions that count matrices; the next one counts rows, the others columns
  int64_t steps = 5;
  double epsilon = 1e-7;
  static constexpr auto fields() {
    using A = OrthogonalizeAttrs;
    return std::tuple{field("batch", &A::batch), field("steps", &A::steps), field("epsilon", &A::epsilon)};
  }
};

/// The factors of X, X X^T X and (X X^T)^2 X in a step of the iteration: the quintic polynomial of K. Jordan, "Muon: an
/// optimizer for hidden layers in neural networks" (2024), which takes singular values of 0.002 to 1 close to 1.
struct NewtonSchulz {
  static constexpr double kLinear = 3.4445, kCubic = -4.7750, kQuintic = 2.0315;
};

/// The sizes of the matrices of an operand.
struct MatrixSizes {
  int64_t batch = 1, rows = 1, columns = 1;

  MatrixSizes(const Shape& shape, int64_t leading) {
    for (int64_t d = 0; d < static_cast<int64_t>(shape.size()); ++d) {
      (d < leading ? batch : d == leading ? rows : columns) *= shape[static_cast<size_t>(d)];
    }
  }
  int64_t shorter() const { return rows < columns ? rows : columns; }
  int64_t longer() const { return rows < columns ? columns : rows; }
  int64_t elements() const { return rows * columns; }
};

/// Returns 1 / (norm + epsilon) of `count` numbers, where norm is the root of the sum of their squares. Divides by the
/// largest number first, so that no square overflows. NaN if a number is not finite.
template <class T>
double inverse_norm(const T* x, int64_t count, double epsilon) {
  double largest = 0, sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double size = std::abs(static_cast<double>(x[i]));
    largest = size > largest || size != size ? size : largest;
  }
  if (!(largest > 0)) return largest == 0 ? 1 / epsilon : largest;
  for (int64_t i = 0; i < count; ++i) {
    const double part = static_cast<double>(x[i]) / largest;
    sum += part * part;
  }
  return 1 / (largest * std::sqrt(sum) + epsilon);
}

}  // namespace partita
