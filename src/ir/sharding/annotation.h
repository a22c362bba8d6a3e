#pragma once
// How the user wants a node to be cut: what `matmul(x, w).shard({{2, 4}, {4, 1}})` leaves on the node. Sharding
// annotations speak of the program alone; a plan finds the axes of a mesh for them.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace partita {

/// Per operand, per dimension: the number of parts, 1 for a dimension that is not cut.
using Strategy = std::vector<std::vector<int64_t>>;

/// "((2, 4), (4, 1))"; a single dimension is "(2)", a scalar "()".
std::string print(const Strategy& strategy);
/// Reads what `print` writes, with any spaces and a comma behind the last number as in "((2,),)". Throws
/// InvalidArgument with the place.
Strategy parse_strategy(std::string_view text);

/// For each dimension of a tensor the names of the axes that cut it, slowest first; none for an uncut one.
using NamedDims = std::vector<std::vector<std::string>>;

class ShardLayout;

/// One tensor over the ranks of a ShardLayout.
class TensorLayout {
 public:
  const ShardLayout& layout() const { return *layout_; }
  const NamedDims& dims() const { return dims_; }

 private:
  friend class ShardLayout;
  TensorLayout(const ShardLayout& layout, NamedDims dims);
  std::shared_ptr<const ShardLayout> layout_;
  NamedDims dims_;
};

/// All ranks as named axes, slowest first: `ShardLayout layout({2, 2, 2}, {"dp", "sp", "mp"})`. The names of a tensor's
/// dimensions follow in parentheses: `layout({"dp", "sp+mp", "None"})` cuts the second dimension by two axes.
class ShardLayout {
 public:
  /// `rank_list` says which rank is at each place of the row-major order, every rank once; without it rank r is at r.
  /// Throws InvalidArgument for sizes below 1, names that are empty, repeated, not plain, or more or fewer than sizes,
  /// and a list that is not a permutation of the ranks.
  ShardLayout(const std::vector<int64_t>& sizes, const std::vector<std::string>& names,
              std::vector<int> rank_list = {});
  /// Throws InvalidArgument for a name that the layout does not have, or has used before in this tensor.
  TensorLayout operator()(const std::vector<std::string>& dims) const;
  const std::vector<std::pair<std::string, int64_t>>& axes() const { return axes_; }
  const std::vector<int>& rank_list() const { return rank_list_; }
  /// The number of parts of each dimension.
  std::vector<int64_t> parts(const NamedDims& dims) const;
  bool operator==(const ShardLayout&) const = default;

 private:
  std::vector<std::pair<std::string, int64_t>> axes_;
  std::vector<int> rank_list_;
};

struct ShardingAnnotation {
  Strategy inputs;
  Strategy outputs;  // empty: the results lie as the cut leaves them
  /// In the named form, where the parts above follow from the names.
  std::vector<std::pair<std::string, int64_t>> axes;
  std::vector<int> rank_list;
  std::vector<NamedDims> input_names, output_names;

  bool named() const { return !axes.empty(); }
  bool operator==(const ShardingAnnotation&) const = default;
};

/// The annotation that layouts make. Throws InvalidArgument when they belong to different ones.
ShardingAnnotation annotation_of(const std::vector<TensorLayout>& inputs, const std::vector<TensorLayout>& outputs);

/// "((2,4),(4,1))->((8,1))", "[dp=2,mp=4]((dp,mp),(mp,None))" or "[a=2,b=2,ranks=(0,2,1,3)]((a,b))", without spaces.
std::string print(const ShardingAnnotation& annotation);
/// Reads it back, with any spaces. Throws InvalidArgument.
ShardingAnnotation parse_annotation(std::string_view text);

}  // namespace partita
