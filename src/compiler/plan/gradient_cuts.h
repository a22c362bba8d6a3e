#pragma once
// Cuts of gradient nodes, which follow from their forward nodes.

#include "ir/graph/rules.h"
#include "ir/sharding/propagate.h"

namespace partita {

/// A forward node and its cut.
struct CutOrigin {
  size_t node;
  const Cut& cut;
};

/// Returns suggestions for the cut of backward node `n`, whose forward node is `origin`, the strongest first: operands
/// that the origin uses or makes, then gradients of the origin's results, then all other operands, then those results
/// of the node that are gradients of the origin's operands. Gradients are told by their types, and sharded as their
/// values. `dims` is the sharding of each value as made; only entries of the other operands are read.
std::vector<Suggestion> gradient_suggestions(const Graph& graph, const Rules& rules, size_t n, const CutOrigin& origin,
                                             const std::vector<std::vector<Axes>>& dims);

}  // namespace partita
