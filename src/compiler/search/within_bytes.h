#pragma once
// Memory as a constraint for searches that do not support one.

#include <functional>

#include "compiler/search/cost_problem.h"

namespace partita {

/// Returns the seconds per byte of a choice: a price at which its bytes cost as much as it does. 1 for a choice that
/// costs nothing, since no multiple of a price of 0 would prefer a smaller one.
double seconds_per_byte(double seconds, double bytes);

/// Returns the problem with `price` per byte added to its costs. Variables that share costs still do.
CostProblem with_price(const CostProblem& problem, double price);

/// Returns the cheapest choice found that takes at most `max_bytes`, by Lagrangian relaxation (Fisher, 1981): `solve`
/// runs with a price per byte, which is raised until the choice fits and then bisected. The lower bound holds for all
/// choices that fit.
/// If no choice is found that fits, returns the smallest one found. That is the smallest possible once bytes cost more
/// than everything else.
SearchResult search_within(const CostProblem& problem, double max_bytes,
                           const std::function<SearchResult(const CostProblem&)>& solve);

}  // namespace partita
