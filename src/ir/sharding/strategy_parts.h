#pragma once
// Reads the number of parts that a strategy requests of each factor. `cut_of` (strategy.h) chooses the axes.

#include "ir/sharding/strategy.h"

namespace partita {

/// The operands or the results of a node to cut, and their name in messages.
struct TensorSide {
  const char* name;
  const std::vector<TensorMap>& maps;
  const std::vector<Type>& types;
};
TensorSide operands_of(const CutTarget& target);
TensorSide results_of(const CutTarget& target);

/// Returns a dimension's description for messages: "dimension 1 of operand 0, f32[2,3],".
std::string place_of(const TensorSide& side, size_t tensor, size_t dim);
/// Throws InvalidArgument "[shard] NODE: what, got GOT, expected EXPECTED".
[[noreturn]] void refuse_cut(const CutTarget& target, const std::string& what, const std::string& got,
                             const std::string& expected);

/// Whether an operand has the factor. Only results have the others, such as the depth of one_hot.
bool in_operand(const ShardingRule& rule, int factor);

/// The number of parts per factor.
struct FactorParts {
  std::vector<int64_t> parts;  // 0: the strategy does not name the factor
  std::vector<int> order;      // factors that are cut, in the order of the strategy
};

/// Returns the parts of all factors: those of the operands, and those that only results have. Throws InvalidArgument,
/// saying what is legal, if the number of tensors or dimensions is wrong, a dimension cannot be cut into that many
/// parts, or one index is cut in two ways. Does not check that the mesh has that many ranks.
FactorParts read_strategy(const ShardingAnnotation& annotation, const CutTarget& target, const Mesh& mesh);

}  // namespace partita
