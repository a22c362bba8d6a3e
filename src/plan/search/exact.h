#pragma once
// The search that finds the cheapest choice, or says how far from it the one that it found may be.

#include "plan/search/cost_problem.h"

namespace partita {

SearchResult exact_search(const CostProblem& problem);

}  // namespace partita
