#pragma once
// Exact search: finds the cheapest choice, or one with a lower bound on the cheapest.

#include <limits>

#include "compiler/search/cost_problem.h"

namespace partita {

/// Returns the cheapest choice if it takes at most `max_bytes`. Else returns the cheapest one found that does, or the
/// smallest one found if none does (`search_within`). If tables would be too large, the choice may not be the cheapest;
/// `lower_bound` then says how far off it can be.
SearchResult exact_search(const CostProblem& problem, double max_bytes = std::numeric_limits<double>::infinity());

/// Returns, for each alternative of a variable, the cost of the cheapest choice that has it, or a lower bound of that
/// if tables would be too large.
std::vector<double> costs_of_alternatives(const CostProblem& problem, size_t variable);

}  // namespace partita
