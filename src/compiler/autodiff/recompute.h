#pragma once
// Trades time for memory: the backward pass recomputes results of the forward pass instead of keeping them (Chen et
// al., 2016).

#include "compiler/autodiff/recompute_policy.h"
#include "ir/graph/op_def.h"

namespace partita {

/// Returns the name of the group of nodes that `policy` recomputes together with `node`: for `selective` the node's own
/// name, for `full` its scope up to the first number, such as "net/h/3". Returns "" if the policy keeps the result: for
/// `none`, for an op other than attention (`selective`), and for a scope without a number (`full`).
std::string recomputed_group(const Node& node, Recompute policy, const OpSet& ops);

/// Marks the nodes of a forward graph that `policy` recomputes; nodes that are already marked keep their group. Throws
/// InvalidArgument if the policy is not `none` and finds nothing to recompute.
void choose_recomputed(Graph& forward, Recompute policy, const OpSet& ops);

/// Returns a training graph whose backward pass uses copies of the marked forward nodes instead of their results.
/// Copies are inserted before their first user and draw the same random numbers; nodes that nothing needs are removed.
/// Without marked nodes, the graph stays as it is. Results that forward nodes outside their group use are kept, as are
/// outputs and stored states. A group of one node is recomputed even if others use its result.
Graph recompute_in_backward(Graph training, const OpSet& ops);

}  // namespace partita
