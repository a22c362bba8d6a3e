#pragma once
// FLOPs of nodes: the estimate by which stages are balanced and their orders are timed.

#include "ir/graph/rules.h"
#include "ir/sharding/sharding.h"

namespace partita {

/// Returns the floating-point operations of a node on one rank without cuts; at least 1, so that every node counts.
double flops_of(const Rules& rules, size_t node);
/// Returns the floating-point operations of a node per rank and micro-batch under a cut; at least 1.
double flops_of(const Rules& rules, size_t node, const Cut& cut, const Mesh& mesh);

}  // namespace partita
