#pragma once
// Initial values of parameters: named rules that depend on the shape, and the values themselves.

#include <variant>

#include "ir/graph/graph.h"
#include "ir/sharding/box_runs.h"

namespace partita {

/// Fans of a weight: `in` inputs feed each of its outputs, and each input feeds `out` outputs. Dense weights are [out,
/// in], convolutions [out, in / groups, height, width].
struct Fans {
  double in = 1, out = 1;
};
/// Returns the fans of a weight [out, in, ..]: `in` and `out` times the product of the dimensions after them. Both are
/// the number of elements if it has fewer than two dimensions.
Fans fans_of(const Shape& shape);

/// Initialization rules. xavier: Glorot and Bengio, 2010. he: He et al., 2015. fan_out: the variant for the backward
/// pass.
enum class Init { zeros, ones, xavier_uniform, xavier_normal, he_uniform, he_normal, he_normal_fan_out };
constexpr auto value_names(Init) {
  return names("zeros", "ones", "xavier_uniform", "xavier_normal", "he_uniform", "he_normal", "he_normal_fan_out");
}

/// Returns the initializer of a weight of this shape under a rule: zeros, ones, or a uniform or normal distribution
/// with mean 0 and variance 2 / (in + out) for xavier, 2 / in for he and 2 / out for fan_out, where in and out are
/// `fans_of(shape)`.
Initializer initializer(Init rule, const Shape& shape);
Initializer constant_initializer(double value);
Initializer normal_initializer(double mean, double sigma);
Initializer truncated_normal_initializer(double mean, double sigma);
Initializer uniform_initializer(double low, double high);

/// How a layer initializes a parameter: a rule that depends on the shape, or one of the distributions above.
class InitRule {
 public:
  InitRule(Init rule) : rule_(rule) {}                      // NOLINT: converts from a rule
  InitRule(Initializer fixed) : rule_(std::move(fixed)) {}  // NOLINT
  /// Returns the initializer of a parameter of this shape: that of the rule, or the distribution, which ignores the
  /// shape.
  Initializer of(const Shape& shape) const;

 private:
  std::variant<Init, Initializer> rule_;
};

/// Returns the initial values of a state of this type. They are functions of the key and the element's index, so they
/// are the same for any number of ranks and threads; those for f32 are the rounded f64 ones. Throws InvalidArgument for
/// a wrong number of arguments, arguments that are not finite, a negative sigma, and a `low` above `high`.
Array make_initial(const Initializer& init, const Type& type, uint64_t key);
/// Writes those values that `make_initial` returns inside `box`, a box of the state, to `to`: dense, in row-major
/// order, in `dtype`. Throws as `make_initial` does.
void make_initial_part(const Initializer& init, DType dtype, const Box& box, uint64_t key, void* to);

/// Returns random numbers, which `key` decides: normal ones of floats, and 0 or 1 of integers, which are ids of any
/// table of two rows.
Array random_operand(const Type& type, uint64_t key);

}  // namespace partita
