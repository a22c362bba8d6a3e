#pragma once
// The part of a node that computes some of its results: a shard on a rank, or the rows of a batch.

#include "ir/graph/rules.h"

namespace partita {

/// Returns the attributes of the part of a node with these ranges of its factors. `rules` are those of the graph.
/// Throws InternalError if the part of an operand or result is not contiguous.
Attrs local_attrs(const Graph& graph, NodeId node, const Rules& rules, std::vector<Range> factors);

/// Checks that a node with local attributes and operands has the results of local types `expected`. `place`, in the
/// message, is where. Throws InternalError otherwise, and what the op's `infer` throws.
void require_local_results(const Node& node, const OpDef& op, const Attrs& attrs, const std::vector<Type>& operands,
                           const std::vector<Type>& expected, const std::string& place);

}  // namespace partita
