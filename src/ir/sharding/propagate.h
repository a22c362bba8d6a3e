#pragma once
// How the shardings of operands and results spread over a node, through the node's rule alone.

#include "base/op_call.h"
#include "ir/sharding/sharding.h"

namespace partita {

/// One operand or result of a node, and the axes it is, or is to be, cut by.
struct Suggestion {
  const TensorMap* tensor;
  std::vector<Axes> dims;
};

/// The cut that the suggestions make together, the first ones first: each dimension's axes are projected to the rule's
/// factors; what is illegal, or clashes with an earlier suggestion, is left out (that operand will be resharded).
/// `expandable`: the op has an expansion, so that its `expand` factors may be cut.
Cut suggest_cut(const ShardingRule& rule, const std::vector<Suggestion>& suggestions, const Mesh& mesh,
                bool expandable);

/// What the results stay partial over because the op is linear in exactly its partial operands, which lie as the
/// cut needs them; no axes when the operands have to be reduced first.
Sharding propagate_partial(const ShardingRule& rule, const Cut& cut, const std::vector<Sharding>& operands);

/// The sharding of result k: the cut's, and partial over what the operands pass on too.
Sharding result_sharding(const ShardingRule& rule, const Cut& cut, const Sharding& passed, int k);

}  // namespace partita
