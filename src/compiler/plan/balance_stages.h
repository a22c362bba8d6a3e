#pragma once
// Contiguous stages of a forward pass that compute about the same number of FLOPs.

#include "ir/graph/rules.h"

namespace partita {

/// Returns the stage of each forward node that is not left out, and -1 for other nodes. Stages are contiguous in the
/// graph's order, so no node needs the result of a later stage.
/// Each stage takes as close to an even share of the remaining FLOPs as the later stages allow. Boundaries are limited
/// to those that the fewest bytes cross, as long as two figures grow by at most 10 %: the smallest possible FLOPs of
/// the largest stage, and the sum of squares of the stages' FLOPs. Throws InvalidArgument if there are fewer forward
/// nodes that are not left out than stages.
std::vector<int> balance_stages(const Graph& graph, const Rules& rules, const std::vector<bool>& left_out,
                                int64_t stages);

}  // namespace partita
