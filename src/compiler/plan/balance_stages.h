#pragma once
// Contiguous stages of a forward that compute alike.

#include "ir/graph/rules.h"

namespace partita {

/// The stage of each node of the forward that is not left out, -1 of others: in the order of the graph, so that no node
/// needs the result of a later stage. The largest number of floating-point operations of a stage, and the sum of their
/// squares, are within 10 % of those of the most even contiguous stages; of such cuts those are taken through which the
/// fewest bytes pass. Throws InvalidArgument when there are fewer nodes than stages.
std::vector<int> balance_stages(const Graph& graph, const Rules& rules, const std::vector<bool>& left_out,
                                int64_t stages);

}  // namespace partita
