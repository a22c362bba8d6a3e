#pragma once
// The cheapest choice of a problem, exactly: variables are eliminated one by one (Bertele and Brioschi, 1972; Dechter,
// 1999), the next one where that leaves the fewest new pairs.

#include <optional>

#include "plan/search/cost_problem.h"

namespace partita {

/// None when some table would have more than `most_entries`.
std::optional<SearchResult> eliminate(const CostProblem& problem, double most_entries);

}  // namespace partita
