#pragma once
// Dynamic programming on the cost graph (Jia et al., 2018, "Exploring hidden dimensions in accelerating convolutional
// neural networks"). Variables with one or two neighbours are eliminated; pairs of their neighbours take over their
// costs. The rest of the graph is enumerated.

#include <limits>

#include "compiler/search/cost_problem.h"

namespace partita {

/// Returns the cheapest choice found that takes at most `max_bytes`, or the smallest one found if none does
/// (`search_within`). It may not be the cheapest of all if the enumeration had to stop early; `lower_bound` then says
/// how far off it can be.
SearchResult dynamic_search(const CostProblem& problem, double max_bytes = std::numeric_limits<double>::infinity());

}  // namespace partita
