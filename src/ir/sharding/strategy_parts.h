#pragma once
// Reads how many parts a strategy asks for of each factor; which axes make them is for others to say (strategy.h).

#include "ir/sharding/strategy.h"

namespace partita {

/// The operands or the results of a node that is to be cut, and what messages call them.
struct TensorSide {
  const char* name;
  const std::vector<TensorMap>& maps;
  const std::vector<Type>& types;
};
TensorSide operands_of(const CutTarget& target);
TensorSide results_of(const CutTarget& target);

/// "dimension 1 of operand 0, f32[2,3],"
std::string place_of(const TensorSide& side, size_t tensor, size_t dim);
/// Throws InvalidArgument that begins with the node.
[[noreturn]] void refuse_cut(const CutTarget& target, const std::string& what, const std::string& got,
                             const std::string& expected);

/// Whether an operand has the factor; only results have others, as the depth of one_hot.
bool in_operand(const ShardingRule& rule, int factor);

struct FactorParts {
  std::vector<int64_t> parts;  // per factor; 0: the strategy does not name it
  std::vector<int> order;      // factors that are cut, as the strategy meets them
};

/// Of the operands, and of the factors that only results have. Throws InvalidArgument with what is legal when tensors
/// or dimensions differ in number, a dimension cannot fall into so many parts, or one index is cut in two ways. That
/// the mesh has as many parts is not checked.
FactorParts read_strategy(const ShardingAnnotation& annotation, const CutTarget& target, const Mesh& mesh);

}  // namespace partita
