#pragma once
// How parameters begin: named rules that look at the shape, and the numbers themselves.

#include <variant>

#include "ir/graph/graph.h"
#include "ir/sharding/box_runs.h"

namespace partita {

/// The numbers behind a weight: fan_in inputs feed each of its outputs. Dense weights are [out, in],
/// convolutions [out, in / groups, height, width].
struct Fans {
  double in = 1, out = 1;
};
Fans fans_of(const Shape& shape);

/// xavier: Glorot and Bengio, 2010; he: He et al., 2015; fan_out: the same for the backward.
enum class Init { zeros, ones, xavier_uniform, xavier_normal, he_uniform, he_normal, he_normal_fan_out };
template <>
inline constexpr auto kNames<Init> = names("zeros", "ones", "xavier_uniform", "xavier_normal", "he_uniform",
                                           "he_normal", "he_normal_fan_out");

/// For a weight of this shape.
Initializer initializer(Init rule, const Shape& shape);
Initializer constant_initializer(double value);
Initializer normal_initializer(double mean, double sigma);
Initializer truncated_normal_initializer(double mean, double sigma);
Initializer uniform_initializer(double low, double high);

/// How a layer begins a parameter: a rule that looks at the shape, or one of the distributions above.
class InitRule {
 public:
  InitRule(Init rule) : rule_(rule) {}                      // NOLINT: written as a rule
  InitRule(Initializer fixed) : rule_(std::move(fixed)) {}  // NOLINT
  Initializer of(const Shape& shape) const;

 private:
  std::variant<Init, Initializer> rule_;
};

/// The values of a state at the beginning: functions of the key and the element, the same for any
/// number of ranks and threads, and for f32 the rounded f64 ones.
Array make_initial(const Initializer& init, const Type& type, uint64_t key);
/// Those of a box of it, dense.
void make_initial_part(const Initializer& init, DType dtype, const Box& box, uint64_t key, void* to);

}  // namespace partita
