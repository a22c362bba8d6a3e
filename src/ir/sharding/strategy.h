#pragma once
// Converts between the user's notation of a cut, the number of parts of each operand's dimensions, and axes of a mesh.

#include "ir/sharding/annotation.h"
#include "ir/sharding/sharding.h"

namespace partita {

/// Returns the number of parts of each operand's dimensions under a cut.
Strategy strategy_of(const ShardingRule& rule, const Cut& cut, const Mesh& mesh);

/// A node to cut, as error messages describe it.
struct CutTarget {
  std::string node;  // "matmul2 (in net/fc2 at zoo/mlp.cpp:13)"
  const ShardingRule& rule;
  const std::vector<Type>& inputs;
  const std::vector<Type>& outputs;
  bool expandable = false;  // the op has an expansion, so its `expand` factors may be cut
};

/// An annotation mapped to the axes of a mesh.
struct AnnotatedCut {
  Cut cut;
  std::vector<std::vector<Axes>> results;  // axes of the results' dimensions; empty: as the cut leaves them
};

/// Maps an annotation to a mesh. Parts are placed on sub-axes row-major: the factor that the strategy cuts first gets
/// the slowest axes of fitting size. Axes that are left over repeat the computation. An annotation in the named form
/// uses the axes that it names. Throws InvalidArgument, which says what would be legal, if the numbers of operands,
/// dimensions or parts do not fit the node or the mesh, if two operands cut one index differently, if the op cannot be
/// cut so, and if named axes or ranks are not those of the mesh.
AnnotatedCut cut_of(const ShardingAnnotation& annotation, const CutTarget& target, const Mesh& mesh);

/// Returns the sub-axes that each named axis stands for, if together they cover the mesh in order. Throws
/// InvalidArgument otherwise.
std::vector<Axes> find_axes(const std::vector<std::pair<std::string, int64_t>>& named, const Mesh& mesh);

}  // namespace partita
