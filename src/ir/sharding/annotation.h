#pragma once
// Sharding annotations: what `matmul(x, w).shard({{2, 4}, {4, 1}})` leaves on a node. They describe the program only; a
// plan maps them to the axes of a mesh.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace partita {

/// Number of parts per operand and dimension; 1 for a dimension that is not cut.
using Strategy = std::vector<std::vector<int64_t>>;

/// Returns "((2, 4), (4, 1))"; a single dimension prints as "(2)", a scalar as "()".
std::string print(const Strategy& strategy);
/// Parses what `print` writes, with any spaces and optional trailing commas, as in "((2,),)". Throws InvalidArgument,
/// with the position, for other texts and numbers that are not 1 to 2^20.
Strategy parse_strategy(std::string_view text);

/// Names of the axes that cut each dimension of a tensor, slowest first; empty for an uncut dimension.
using NamedDims = std::vector<std::vector<std::string>>;

class ShardLayout;

/// Layout of one tensor over the ranks of a ShardLayout, which it shares.
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

/// All ranks as named axes, slowest first: `ShardLayout layout({2, 2, 2}, {"dp", "sp", "mp"})`. Calling it names the
/// axes of a tensor's dimensions: `layout({"dp", "sp+mp", "None"})` cuts the second dimension by two axes.
class ShardLayout {
 public:
  /// `rank_list` gives the rank at each place of the row-major order; empty = rank r at place r. Throws InvalidArgument
  /// for no axes, a size below 1, names that are empty, repeated, reserved ("None", "ranks") or contain other
  /// characters than letters, digits and '_', different numbers of sizes and names, more than 64 axes or 2^20 ranks,
  /// and a list that is not a permutation of the ranks.
  ShardLayout(const std::vector<int64_t>& sizes, const std::vector<std::string>& names,
              std::vector<int> rank_list = {});
  /// Returns the layout of a tensor. `dims` has one entry per dimension: the axes that cut it, slowest first and joined
  /// by '+', or "None". Throws InvalidArgument for an unknown axis and for one that the tensor uses twice.
  TensorLayout operator()(const std::vector<std::string>& dims) const;
  const std::vector<std::pair<std::string, int64_t>>& axes() const { return axes_; }
  /// Returns the rank at each place; empty if rank r is at place r.
  const std::vector<int>& rank_list() const { return rank_list_; }
  /// Returns the number of parts per dimension: the product of the sizes of the axes it names, 1 for none. Unknown
  /// names are ignored.
  std::vector<int64_t> parts(const NamedDims& dims) const;
  bool operator==(const ShardLayout&) const = default;

 private:
  std::vector<std::pair<std::string, int64_t>> axes_;
  std::vector<int> rank_list_;
};

/// How the user wants a node to be cut.
struct ShardingAnnotation {
  Strategy inputs;
  Strategy outputs;  // empty: the results stay as the cut leaves them
  /// In the named form: the axes, ranks and names from which the parts above follow.
  std::vector<std::pair<std::string, int64_t>> axes;
  std::vector<int> rank_list;
  std::vector<NamedDims> input_names, output_names;

  /// Whether the annotation has the named form.
  bool named() const { return !axes.empty(); }
  bool operator==(const ShardingAnnotation&) const = default;
};

/// Returns the annotation that the layouts make. Throws InvalidArgument if `inputs` is empty or the layouts belong to
/// different ShardLayouts.
ShardingAnnotation annotation_of(const std::vector<TensorLayout>& inputs, const std::vector<TensorLayout>& outputs);

/// Returns the annotation without spaces: "((2,4),(4,1))->((8,1))", "[dp=2,mp=4]((dp,mp),(mp,None))" or
/// "[a=2,b=2,ranks=(0,2,1,3)]((a,b))".
std::string print(const ShardingAnnotation& annotation);
/// Parses what `print` writes, with any spaces. Throws InvalidArgument with the position for other texts, and as
/// ShardLayout does for bad axes, ranks and names.
ShardingAnnotation parse_annotation(std::string_view text);

}  // namespace partita
