#pragma once
// Memory as a constraint of a search that knows none.

#include <functional>

#include "compiler/search/cost_problem.h"

namespace partita {

/// The problem in which a byte of memory costs something, too. Variables that were alike still are.
CostProblem with_price(const CostProblem& problem, double price);

/// The cheapest choice found that takes `most_bytes` or less, by Lagrangian relaxation (Fisher, 1981): bytes get a
/// price, which is raised until what `solve` finds fits. The bound holds for all choices that fit. When none is found
/// that fits, the result is the smallest one that was found; where bytes cost more than all else, that is the smallest
/// there is.
SearchResult search_within(const CostProblem& problem, double most_bytes,
                           const std::function<SearchResult(const CostProblem&)>& solve);

}  // namespace partita
