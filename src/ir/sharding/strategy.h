#pragma once
// From the user's notation of a cut, how many parts each dimension of each operand has, to axes of a mesh and back.

#include "ir/sharding/annotation.h"
#include "ir/sharding/sharding.h"

namespace partita {

/// The strategy that a cut means.
Strategy strategy_of(const ShardingRule& rule, const Cut& cut, const Mesh& mesh);

/// What messages say of a node that is to be cut.
struct CutTarget {
  std::string node;  // "matmul2 (in net/fc2 at zoo/mlp.cpp:13)"
  const ShardingRule& rule;
  const std::vector<Type>& inputs;
  const std::vector<Type>& outputs;
  bool expandable = false;  // the op has an expansion, so that its `expand` factors may be cut
};

/// An annotation on the axes of a mesh.
struct AnnotatedCut {
  Cut cut;
  std::vector<std::vector<Axes>> results;  // how the results are to lie; empty: as the cut leaves them
};

/// Parts are placed on the sub-axes of the mesh row-major: the factor that is cut first in the strategy gets the
/// slowest axes of fitting size. Axes that are left over repeat the computation. An annotation of the named form takes
/// the axes of its names. Throws InvalidArgument that names the node, the operand and the dimension, what was asked and
/// what would be legal.
AnnotatedCut cut_of(const ShardingAnnotation& annotation, const CutTarget& target, const Mesh& mesh);

/// The sub-axes of a mesh that named axes stand for, when all of them fit it in their order; throws InvalidArgument.
std::vector<Axes> find_axes(const std::vector<std::pair<std::string, int64_t>>& named, const Mesh& mesh);

}  // namespace partita
