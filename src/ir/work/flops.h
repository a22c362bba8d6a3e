#pragma once
// FLOPs of nodes: the estimate by which stages are balanced and their orders are timed.

#include "ir/graph/rules.h"
#include "ir/sharding/sharding.h"

namespace partita {

/// Returns 1, so every node counts, plus the floating-point operations of a node on one rank without cuts. Throws
/// InternalError if the node has no rule.
double flops_of(const Rules& rules, size_t node);
/// Returns 1 plus the floating-point operations of a node per rank and micro-batch under a cut. Throws InternalError if
/// the node has no rule.
double flops_of(const Rules& rules, size_t node, const Cut& cut, const Mesh& mesh);

}  // namespace partita
