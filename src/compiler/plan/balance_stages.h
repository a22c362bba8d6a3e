#pragma once
// Contiguous stages of a forward that compute about the same number of FLOPs.

#include "ir/graph/rules.h"

namespace partita {

/// Returns the stage of each forward node that is not left out, and -1 for other nodes. Stages are contiguous in the
/// graph's order, so that no node needs the result of a later stage.
/// Both the FLOPs of the largest stage and the sum of squares of all stages' FLOPs are within 10 % of those of the most
/// even contiguous stages; of such divisions, the one with the fewest bytes across its boundaries is chosen. Throws
/// InvalidArgument if there are fewer nodes than stages.
std::vector<int> balance_stages(const Graph& graph, const Rules& rules, const std::vector<bool>& left_out,
                                int64_t stages);

}  // namespace partita
