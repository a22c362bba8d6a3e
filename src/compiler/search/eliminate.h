#pragma once
// The cheapest choice of a problem, exactly: variables are eliminated one by one (Bertele and Brioschi, 1972; Dechter,
// 1999), the next one where that leaves the fewest new pairs. Equal steps are computed once, so that repeated parts of
// a problem cost next to nothing.

#include <limits>
#include <memory>
#include <optional>

#include "compiler/search/cost_problem.h"

namespace partita {

struct EliminationLimits {
  double entries = 1e7;                                // of a table
  double work = 2e9;                                   // sums
  size_t around = std::numeric_limits<size_t>::max();  // variables around one that is eliminated
  std::optional<size_t> keep{};                        // a variable that is not eliminated
  bool all = false;                                    // nothing is computed unless the limits leave no variable
};

/// What is left of a problem when variables were eliminated, and the way back.
class Elimination {
 public:
  /// As far as the limits allow. The problem outlives this.
  Elimination(const CostProblem& problem, const EliminationLimits& limits);
  ~Elimination();

  /// The variables that are left, and what they cost; only where no function of more than two of them is left.
  const std::vector<size_t>& left() const;
  CostProblem core() const;
  /// What the rest costs that has no part in that.
  double apart() const;
  /// The best choice of all variables, given one of those that are left.
  std::vector<size_t> complete(const std::vector<size_t>& chosen) const;

 private:
  class Solver;
  std::unique_ptr<Solver> solver_;
};

/// None when that would take more than the limits.
std::optional<SearchResult> eliminate(const CostProblem& problem, EliminationLimits limits = {});

}  // namespace partita
