#pragma once
// The exact cheapest choice of a problem, by variable elimination (Bertele and Brioschi, 1972; Dechter, 1999). The next
// variable is the one whose elimination adds the fewest new pairs. Equal steps are computed once, so that repeated
// parts of a problem cost almost nothing.

#include <limits>
#include <memory>
#include <optional>

#include "compiler/search/cost_problem.h"

namespace partita {

struct EliminationLimits {
  double entries = 1e7;                                // maximum size of a table
  double work = 2e9;                                   // maximum number of sums
  size_t around = std::numeric_limits<size_t>::max();  // maximum neighbours of an eliminated variable
  std::optional<size_t> keep{};                        // a variable that is not eliminated
  bool all = false;  // whether to compute nothing unless all variables can be eliminated
};

/// A problem with some variables eliminated, and the way back to choices of all variables.
class Elimination {
 public:
  /// Eliminates variables as far as the limits allow. The problem must outlive this object. If `limits.all` is set and
  /// variables remain, only `left` may be called.
  Elimination(const CostProblem& problem, const EliminationLimits& limits);
  ~Elimination();

  /// `left` returns the variables that remain; `core` returns them as a problem. `core` throws InternalError if a
  /// function of more than two of them remains.
  const std::vector<size_t>& left() const;
  CostProblem core() const;
  /// Returns the minimum cost of the eliminated variables that are not connected to the remaining ones.
  double apart() const;
  /// Returns the cheapest choice of all variables that contains `chosen`, which has an alternative for each variable in
  /// `left()`.
  std::vector<size_t> complete(const std::vector<size_t>& chosen) const;

 private:
  class Solver;
  std::unique_ptr<Solver> solver_;
};

/// Returns the cheapest choice, with its cost as lower bound, or none if it would exceed the limits.
std::optional<SearchResult> eliminate(const CostProblem& problem, EliminationLimits limits = {});

}  // namespace partita
