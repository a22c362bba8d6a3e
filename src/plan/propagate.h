#pragma once
// How the sharding of one operand or result spreads over a node, through the node's rule alone.

#include "graph/op_def.h"
#include "plan/sharding.h"

namespace partita {

/// The cut that the given operands and results suggest together: each dimension's axes are projected
/// to the rule's factors; what is illegal, or clashes with an earlier suggestion, is left out (that
/// operand will be resharded). An entry without axes suggests nothing. `expandable`: the op has an
/// expansion, so that its `expand` factors may be cut.
Cut suggest_cut(const ShardingRule& rule, const std::vector<std::vector<Axes>>& inputs,
                const std::vector<std::vector<Axes>>& outputs, const Mesh& mesh, bool expandable);

}  // namespace partita
