#pragma once
// How a gradient node is cut: as the forward node that it comes from.

#include "ir/graph/rules.h"
#include "ir/sharding/propagate.h"

namespace partita {

/// A forward node and how it is cut.
struct CutOrigin {
  size_t node;
  const Cut& cut;
};

/// What speaks for a cut of node `n`, which `origin` left in the backward part: first what the origin itself used and
/// made, then the gradients that arrive, then what other nodes of the same gradient made; then the gradients that it is
/// to give. `dims` has, for each value, how it lies as made; it is read for values of the backward part alone.
std::vector<Suggestion> gradient_suggestions(const Graph& graph, const Rules& rules, size_t n, const CutOrigin& origin,
                                             const std::vector<std::vector<Axes>>& dims);

}  // namespace partita
