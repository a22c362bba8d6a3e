#pragma once
// Shared by the recurrent ops: attributes, sizes, the nodes of their steps and the loops of their reference kernels.

#include "base/fields.h"
#include "ir/graph/builder.h"
#include "ir/graph/op_def.h"
#include "ir/ops/support.h"

namespace partita {

/// `reversed`: the steps are computed from the last one to the first.
struct RecurrentAttrs {
  bool reversed = false;
  static constexpr auto fields() { return std::tuple{field("reversed", &RecurrentAttrs::reversed)}; }
};

/// Sizes of `count` gates of [steps, rows, size] whose states have `inner` elements, as many as `size` before it is
/// cut.
struct RecurrentSizes {
  int64_t steps = 0, rows = 0, count = 0, size = 0, inner = 0;

  /// From [steps, rows, count, size] and weights [count, size, inner].
  RecurrentSizes(const Shape& gates, const Shape& weights)
      : steps(gates[0]), rows(gates[1]), count(gates[2]), size(gates[3]), inner(weights[2]) {}
  int64_t states() const { return rows * size; }      // elements of the states of a step
  int64_t gates() const { return count * states(); }  // elements of the gates of a step
  int64_t gate_row() const { return count * size; }   // elements of the gates of a row
  Shape state_shape() const { return {rows, size}; }
  Shape states_shape() const { return {steps, rows, size}; }
  /// Returns the step that is computed as number k.
  int64_t step(bool reversed, int64_t k) const { return reversed ? steps - 1 - k : k; }
};

/// Checks that `gates` is [steps, rows, count, size] of at least one step, and that the weights are [count, size, size]
/// of its type. Throws InvalidArgument otherwise.
void require_recurrent(std::string_view op, const Type& gates, const Type& weights, int64_t count);

/// The nodes of the steps of an expansion.
class RecurrentSteps {
 public:
  /// `weights` [count, size, inner]; `call` outlives the object.
  RecurrentSteps(const BuildCall& call, const Value& weights, const RecurrentSizes& sizes);

  Value shaped(const Value& x, const Shape& shape) const;
  Value sum(const Value& a, const Value& b) const { return call_.apply("add", {a, b}); }
  Value difference(const Value& a, const Value& b) const { return call_.apply("sub", {a, b}); }
  Value product(const Value& a, const Value& b) const { return call_.apply("mul", {a, b}); }
  /// Returns x (1 - y), and x (1 - y^2).
  Value without(const Value& x, const Value& y) const { return difference(x, product(x, y)); }
  Value without_square(const Value& x, const Value& y) const;

  /// Returns step t of states [steps, rows, size], and a gate of it of [steps, rows, count, size].
  Value state(const Value& x, int64_t t) const;
  Value gate(const Value& x, int64_t t, int64_t gate) const;
  /// Returns rows h of states times the weights of a gate.
  Value weighted(const Value& h, int64_t gate) const;
  /// Returns the gradient of states from those of the gates that they were weighted for.
  Value back(const std::vector<Value>& d_gates) const;
  /// Returns `x` with its rows whole on every shard: a product of the next step needs all of them.
  Value whole(const Value& x) const;
  /// Returns the states, or the gates, of all steps, in the order of the steps, as one value.
  Value stacked(const std::vector<Value>& states) const;
  Value stacked_gates(const std::vector<std::vector<Value>>& steps) const;

 private:
  const BuildCall& call_;
  const RecurrentSizes sizes_;
  std::vector<Value> weights_;
};

/// Builds a formula in f32 if the operands have 16 bits, and rounds its results once, as the kernels do.
std::vector<Value> in_wide_type(const ExpandCall& call,
                                const std::function<std::vector<Value>(const ExpandCall&)>& formula);

/// Returns the gradients of weights [count, size, size]: of each gate, the sums over all steps and rows of its
/// gradient, of [steps, rows, count, size], times the state before, of which `first` [rows, size] and `states` are the
/// values.
Value gradient_of_weights(const GradCall& call, const RecurrentSizes& sizes, bool reversed, const Value& d_gates,
                          const Value& first, const Value& states);

/// y (+)= x w for rows of x, with sums in f64; `weight(k, c)` is the element of row k and column c.
template <class T, class At>
void multiply_rows(int64_t rows, int64_t columns, int64_t inner, const T* x, const At& weight, T* y, bool add) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      double sum = add ? double(y[r * columns + c]) : 0;
      for (int64_t k = 0; k < inner; ++k) sum += double(x[r * inner + k]) * double(weight(k, c));
      y[r * columns + c] = static_cast<T>(sum);
    }
  }
}

}  // namespace partita
