#include "compiler/search/exact.h"

#include <algorithm>

#include "compiler/search/dual_bound.h"
#include "compiler/search/eliminate.h"
#include "compiler/search/within_bytes.h"

namespace partita {
namespace {

constexpr double kSlack = 1e-9;  // for rounding
constexpr int kSweeps[] = {8, 64};

/// Solves a problem whose tables would be too large, reduced by bounds. If that fails, returns a choice and a lower
/// bound.
SearchResult bounded_search(const CostProblem& problem) {
  SearchResult best;
  best.seconds = std::numeric_limits<double>::infinity();
  for (const int sweeps : kSweeps) {
    const DualBound bound = dual_bound(problem, sweeps);
    best.lower_bound = std::max(best.lower_bound, bound.lower_bound);
    std::vector<size_t> chosen = polish(problem, bound.chosen);
    if (const double seconds = problem.seconds(chosen); seconds < best.seconds) {
      best.chosen = std::move(chosen);
      best.seconds = seconds;
    }
    const ReducedProblem reduced = without_costly(problem, bound, best.seconds * (1 + kSlack));
    if (std::optional<SearchResult> found = eliminate(reduced.problem)) {
      found->chosen = reduced.whole(std::move(found->chosen));
      found->seconds = found->lower_bound = problem.seconds(found->chosen);
      return *found;
    }
  }
  return best;
}

SearchResult unconstrained_search(const CostProblem& problem) {
  std::optional<SearchResult> found = eliminate(problem);
  return found ? std::move(*found) : bounded_search(problem);
}

}  // namespace

SearchResult exact_search(const CostProblem& problem, double max_bytes) {
  return search_within(problem, max_bytes, unconstrained_search);
}

std::vector<double> costs_of_alternatives(const CostProblem& problem, size_t variable) {
  EliminationLimits limits;
  limits.keep = variable;
  const Elimination elimination(problem, limits);
  if (elimination.left() != std::vector<size_t>{variable}) return dual_bound(problem, kSweeps[0]).least[variable];
  std::vector<double> costs = *elimination.core().variables[0].seconds;
  for (double& cost : costs) cost += elimination.apart();
  return costs;
}

}  // namespace partita
