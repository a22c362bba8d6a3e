#pragma once
// How an op's index space maps to its tensors: the rule from which candidate strategies, propagation,
// partition, communication and tests follow. It holds for any mesh.

#include <array>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/op_call.h"
#include "base/reduce.h"

namespace partita {

/// The part [begin, end) of [0, size).
struct Range {
  int64_t begin = 0, end = 0, size = 0;
  int64_t count() const { return end - begin; }
  bool whole() const { return begin == 0 && end == size; }
  bool operator==(const Range&) const = default;
};

/// A part of an array: for each dimension the indices that it has. A scalar has the box without dimensions.
using Box = std::vector<Range>;

/// Part i of n of `size` elements: [i*size/n, (i+1)*size/n). The only place that cuts anything.
Range chunk(int64_t size, int64_t i, int64_t n);

enum class Cutting { free, whole, expand };  // whole: never cut; expand: only through OpDef::expand

struct Factor {
  char name = '?';
  int64_t size = 1;  // global
  Cutting cutting = Cutting::free;
  Reduce reduce = Reduce::none;   // how outputs that lack this factor are combined
  bool contributes_flops = true;  // to the iteration-space size; not for looked-up rows and data movement
};

/// input index = output index * stride - pad + tap * dilation
struct Window {
  int64_t stride = 1, dilation = 1, size = 1, pad = 0;  // size: taps
  bool transposed = false;                              // the factor runs over the *input* of the window (gradients)
  bool operator==(const Window&) const = default;
};

/// Which part of a windowed dimension of `dim` elements one shard must hold.
Range required_range(const Window& window, const Range& factor, int64_t dim);

/// A tensor dimension: an ordered product of factors, major first; none = size 1, never cut.
struct DimMap {
  std::vector<int> factors;
  std::optional<Window> window;
};
using TensorMap = std::vector<DimMap>;

/// Whether a dimension of the tensor belongs to the factor.
bool has_factor(const TensorMap& tensor, int factor);

/// A set of reduction kinds.
struct ReduceSet {
  bool sum = false, max = false, min = false;
  bool has(Reduce kind) const {
    return kind == Reduce::sum ? sum : kind == Reduce::max ? max : kind == Reduce::min && min;
  }
};
inline constexpr ReduceSet kSum{.sum = true};
inline constexpr ReduceSet kMax{.max = true};
inline constexpr ReduceSet kMaxMin{.max = true, .min = true};
inline constexpr ReduceSet kAnyReduce{.sum = true, .max = true, .min = true};

/// Operands in which the op commutes with the reductions of `kinds`, jointly.
struct Linear {
  std::vector<int> operands;
  ReduceSet kinds = kSum;
};

struct ShardingRule {
  std::vector<Factor> factors;
  std::vector<TensorMap> inputs, outputs;
  std::vector<Linear> linear;

  /// Fluent: declares one group of operands. `einsum(...).linear_in({0}).linear_in({1})`
  ShardingRule& linear_in(std::vector<int> operands, ReduceSet kinds = kSum) {
    linear.push_back({std::move(operands), kinds});
    return *this;
  }
};

/// What one coordinate of a mesh holds of one node, in global indices.
struct Shard {
  std::vector<Range> factors;
  std::vector<Box> inputs, outputs;  // per operand, per dimension
};

/// "n(gc)[h][w],(go)cpq->n(go)hw | p:whole q:whole".
/// A letter is a factor; `1` a dimension of size 1; `(ab)` a compound dimension, major first; `[h]` a
/// window over factor h and `<h>` a transposed one, with numbers in `windows`, in the order of their
/// appearance. Modifiers after `|`: sum max min (for letters missing from an output; sum is the default),
/// whole, expand, lookup (= sum, no FLOPs), no_flops. Sizes come from single-letter dimensions and
/// from `sizes`; one unknown of a compound is solved. `..` at the head of a tensor stands for leading
/// batch dimensions, the same in every tensor that has it (letters are invented for them).
ShardingRule einsum(std::string_view text, const OpCall& call, const std::map<char, int64_t>& sizes = {},
                    const std::vector<Window>& windows = {});

/// Rule of a pointwise op with NumPy broadcasting: one factor per output dimension, `1` where an
/// input is broadcast. All outputs have the shape of the first.
ShardingRule pointwise_rule(const OpCall& call);

/// Common refinement of two shapes of the same number of elements: the rule of reshape.
ShardingRule reshape_rule(const Shape& from, const Shape& to);

/// The shorthand with sizes: "vz,a->az | v=10:lookup z=4 a=6".
std::string print(const ShardingRule& rule);

/// "" or what is wrong with a rule for these types (our bug, found by the laws).
std::string verify(const ShardingRule& rule, const OpCall& call, bool has_expand);

}  // namespace partita
