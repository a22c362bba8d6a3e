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

/// Returns suggestions for the cut of backward node `n`, whose forward node is `origin`, the strongest first: values
/// that the origin uses or makes, then arriving gradients, then results of other nodes of the same gradient, then the
/// gradients that the node produces.
/// `dims` is the sharding of each value as made. Only entries of backward values are read.
std::vector<Suggestion> gradient_suggestions(const Graph& graph, const Rules& rules, size_t n, const CutOrigin& origin,
                                             const std::vector<std::vector<Axes>>& dims);

}  // namespace partita
