#pragma once
// The search that finds the cheapest choice, or says how far from it the one that it found may be.

#include <limits>

#include "plan/search/cost_problem.h"

namespace partita {

/// The cheapest choice that takes `most_bytes` or less; where memory is a constraint, by Lagrangian relaxation (Fisher,
/// 1981): bytes get a price, which is raised until the choice fits. The bound holds for all choices that fit. When none
/// is found that fits, the result is the smallest one that was found.
SearchResult exact_search(const CostProblem& problem, double most_bytes = std::numeric_limits<double>::infinity());

/// For each alternative of a variable what the cheapest choice costs that has it; where tables would be too large, a
/// bound below which none does.
std::vector<double> costs_of_alternatives(const CostProblem& problem, size_t variable);

}  // namespace partita
