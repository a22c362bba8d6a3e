#pragma once
// The search that finds the cheapest choice, or says how far from it the one that it found may be.

#include <limits>

#include "compiler/search/cost_problem.h"

namespace partita {

/// The cheapest choice; where it takes more than `most_bytes` and memory is a constraint, as `search_within` says.
SearchResult exact_search(const CostProblem& problem, double most_bytes = std::numeric_limits<double>::infinity());

/// For each alternative of a variable what the cheapest choice costs that has it; where tables would be too large, a
/// bound below which none does.
std::vector<double> costs_of_alternatives(const CostProblem& problem, size_t variable);

}  // namespace partita
