#pragma once
// Sharding rules: how an op's index space maps to its tensors. Candidate strategies, propagation, partition,
// communication and tests follow from them. A rule holds for any mesh.

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

/// A part of an array: the index range of each dimension. The box of a scalar has no dimensions.
using Box = std::vector<Range>;

/// Returns part i of n of `size` elements: [i*size/n, (i+1)*size/n). Every cut uses this function.
Range chunk(int64_t size, int64_t i, int64_t n);

enum class Cutting { free, whole, expand };  // whole: never cut; expand: only through OpDef::expand

/// One index of an op's iteration space.
struct Factor {
  char name = '?';
  int64_t size = 1;  // global number of values
  Cutting cutting = Cutting::free;
  Reduce reduce = Reduce::none;   // how outputs that lack this factor are combined
  bool contributes_flops = true;  // in the iteration-space size; not: looked-up rows, data movement
};

/// A window over a factor: input index = output index * stride - pad + tap * dilation.
struct Window {
  int64_t stride = 1, dilation = 1, size = 1, pad = 0;  // size: number of taps
  bool transposed = false;                              // the factor runs over the *input* of the window (gradients)
  bool operator==(const Window&) const = default;
};

/// Returns the part of a windowed dimension of `dim` elements that a shard with this part of the factor must hold,
/// padding left out. The whole factor needs the whole dimension.
Range required_range(const Window& window, const Range& factor, int64_t dim);

/// A tensor dimension: an ordered product of factors, major first. No factors = size 1, never cut.
struct DimMap {
  std::vector<int> factors;
  std::optional<Window> window;
};
using TensorMap = std::vector<DimMap>;

/// Whether a dimension of the tensor contains the factor.
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

/// Operands in which the op commutes jointly with the reductions of `kinds`.
struct Linear {
  std::vector<int> operands;
  ReduceSet kinds = kSum;
};

/// The sharding rule of one node.
struct ShardingRule {
  std::vector<Factor> factors;
  std::vector<TensorMap> inputs, outputs;
  std::vector<Linear> linear;

  /// Declares that the op is linear in a group of operands, jointly. Chainable:
  /// `einsum(...).linear_in({0}).linear_in({1})`.
  ShardingRule& linear_in(std::vector<int> operands, ReduceSet kinds = kSum) {
    linear.push_back({std::move(operands), kinds});
    return *this;
  }
};

/// The part of a node that one coordinate of a mesh holds, in global indices.
struct Shard {
  std::vector<Range> factors;
  std::vector<Box> inputs, outputs;  // per operand or output
};

/// Makes a rule from its shorthand: "n(gc)[h][w],(go)cpq->n(go)hw | p:whole q:whole".
///
/// A letter is a factor; `1` is a dimension of size 1; `(ab)` is a compound dimension, major first. `[h]` is a window
/// over factor h and `<h>` a transposed one; their numbers are in `windows`, in order of appearance. `..` at the start
/// of a tensor stands for leading batch dimensions, the same in every tensor that has it; it gets unused capital
/// letters.
///
/// Modifiers after `|`: sum, max, min (for letters missing from an output; sum is the default), whole, expand, lookup
/// (= sum without FLOPs), no_flops. Sizes come from single-letter dimensions and from `sizes`; one unknown of a
/// compound is solved. Throws InternalError for mistakes in the text.
ShardingRule einsum(std::string_view text, const OpCall& call, const std::map<char, int64_t>& sizes = {},
                    const std::vector<Window>& windows = {});

/// Returns the rule of a pointwise op with NumPy broadcasting: one factor per output dimension but those of size 1, `1`
/// where an input is broadcast. Throws InternalError unless all outputs have one shape to which the inputs broadcast.
ShardingRule pointwise_rule(const OpCall& call);

/// Returns the rule of reshape: the common refinement of two shapes. No dimension of a tensor without elements can be
/// cut. Throws InternalError for shapes with different numbers of elements.
ShardingRule reshape_rule(const Shape& from, const Shape& to);

/// Returns the rule as shorthand with sizes: "vz,a->az | v=10:lookup z=4 a=6".
std::string print(const ShardingRule& rule);

/// Returns what is wrong with a rule for these types, which is a bug in the op, or "" if it is right.
std::string verify(const ShardingRule& rule, const OpCall& call, bool has_expand);

}  // namespace partita
