#pragma once
// Propagates the shardings of operands and results through a node, using its rule only.

#include "base/op_call.h"
#include "ir/sharding/sharding.h"

namespace partita {

/// An operand or result of a node, and the axes that cut it or should cut it.
struct Suggestion {
  const TensorMap* tensor;
  std::vector<Axes> dims;
};

/// Returns the cut that the suggestions make together; earlier ones win. Each dimension's axes are projected to the
/// rule's factors. Axes that are illegal or clash with an earlier suggestion are dropped, so operand will be
/// resharded. `expandable`: the op has an expansion, so `expand` factors may be cut.
Cut suggest_cut(const ShardingRule& rule, const std::vector<Suggestion>& suggestions, const Mesh& mesh,
                bool expandable);

/// Returns what the results stay partial over because the op is linear in exactly its partial operands, which are laid
/// out as the cut needs them. The result has only `kind` and `partial`; no axes if no operand is partial or the
/// operands must be reduced first.
Sharding propagate_partial(const ShardingRule& rule, const Cut& cut, const std::vector<Sharding>& operands);

/// Returns the sharding of result `k`: that of the cut, and also partial over `passed`, the result of
/// `propagate_partial`.
Sharding result_sharding(const ShardingRule& rule, const Cut& cut, const Sharding& passed, int k);

}  // namespace partita
