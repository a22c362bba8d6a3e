#pragma once
// How much a node computes: the estimate by which stages are balanced and their order is timed.

#include "ir/graph/rules.h"
#include "ir/sharding/sharding.h"

namespace partita {

/// Floating-point operations of a node; at least a few, so that every node counts.
double flops_of(const Rules& rules, size_t node);
/// Of one rank, in one micro-batch.
double flops_of(const Rules& rules, size_t node, const Cut& cut, const Mesh& mesh);

}  // namespace partita
