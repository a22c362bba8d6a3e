#pragma once
// Dynamic programming on the cost graph: variables with one or two others around them are eliminated, which makes pairs
// that cost as much together as all three do; what is left of the graph is enumerated (Jia et al., 2018, "Exploring
// hidden dimensions in accelerating convolutional neural networks").

#include <limits>

#include "compiler/search/cost_problem.h"

namespace partita {

/// Where memory is a constraint, as `search_within` says.
SearchResult dynamic_search(const CostProblem& problem, double most_bytes = std::numeric_limits<double>::infinity());

}  // namespace partita
