#include "plan/search/exact.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.h"
#include "plan/search/dual_bound.h"
#include "plan/search/eliminate.h"

namespace partita {
namespace {

constexpr double kSlack = 1e-9;  // of rounding
constexpr int kSweeps[] = {8, 64};
constexpr int kPrices = 24;   // of a byte, that are tried
constexpr double kRaise = 8;  // from one to the next until the choice fits

/// Solves what is left of a problem whose tables would be too large; in the worst case finds a choice and a bound.
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

/// The problem in which a byte costs something, too. Variables that were alike still are.
CostProblem with_price(const CostProblem& problem, double price) {
  CostProblem priced{{}, problem.edges};
  std::map<std::pair<const void*, const void*>, std::shared_ptr<const std::vector<double>>> known;
  for (const CostVariable& variable : problem.variables) {
    auto& seconds = known[{variable.seconds.get(), variable.bytes.get()}];
    if (!seconds) {
      std::vector<double> sums = *variable.seconds;
      for (size_t a = 0; a < sums.size() && variable.bytes; ++a) sums[a] += price * (*variable.bytes)[a];
      seconds = std::make_shared<const std::vector<double>>(std::move(sums));
    }
    priced.variables.push_back({seconds, variable.bytes});
  }
  return priced;
}

SearchResult constrained_search(const CostProblem& problem, double most_bytes, SearchResult fastest) {
  SearchResult best = std::move(fastest);
  double bound = best.lower_bound, bytes = problem.bytes(best.chosen);
  double low = 0, high = 0, step = best.seconds / std::max(1.0, bytes);
  for (int round = 0; round < kPrices; ++round) {
    const double price = high > 0 ? (low + high) / 2 : step;
    SearchResult found = unconstrained_search(with_price(problem, price));
    found.seconds = problem.seconds(found.chosen);
    bound = std::max(bound, found.lower_bound - price * most_bytes);
    const double size = problem.bytes(found.chosen);
    const bool fits = size <= most_bytes, fitted = bytes <= most_bytes;
    if (fits ? !fitted || found.seconds < best.seconds : !fitted && size < bytes) {
      best = std::move(found);
      bytes = size;
    }
    if (fits) {
      high = price;
    } else {
      low = price;
      step *= kRaise;
    }
  }
  best.lower_bound = bytes <= most_bytes ? std::min(bound, best.seconds) : bound;
  return best;
}

}  // namespace

SearchResult exact_search(const CostProblem& problem, double most_bytes) {
  SearchResult fastest = unconstrained_search(problem);
  if (problem.bytes(fastest.chosen) <= most_bytes) return fastest;
  return constrained_search(problem, most_bytes, std::move(fastest));
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
