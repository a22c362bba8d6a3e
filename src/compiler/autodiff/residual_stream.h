#pragma once
// Finds the residual stream of a network.

#include "ir/graph/op_def.h"

namespace partita {

/// Returns, per value, whether it belongs to the residual stream of the network: sums of two activations of equal shape
/// that both follow from products, what operators other than products make of such a sum on its way to the next one,
/// and their gradients. `is_outside` says which nodes belong to no layer, such as those of the
/// loss.
std::vector<bool> residual_stream(const Graph& graph, const OpSet& ops,
                                  const std::function<bool(const Node&)>& is_outside);

}  // namespace partita
