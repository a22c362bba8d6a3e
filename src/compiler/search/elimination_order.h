#pragma once
// The order in which variables are eliminated from a problem, and which of the steps are equal. Computes no costs.

#include <set>
#include <string>
#include <unordered_map>

#include "compiler/search/eliminate.h"

namespace partita {

using CostValues = std::shared_ptr<const std::vector<double>>;

/// Cost of some variables together, row-major in their order. Equal functions of different variables share a table.
struct CostFunction {
  std::vector<size_t> variables;
  size_t table = 0;  // index among all tables
};

/// Elimination of one variable: its functions become one function of its neighbours.
struct EliminationStep {
  size_t variable = 0;
  std::vector<CostFunction> functions;
  std::vector<size_t> around;
  size_t result = 0;  // index of its table; unused without neighbours
};

/// Order of elimination. Repeated parts of a problem share their steps, so each is computed once.
class EliminationOrder {
 public:
  explicit EliminationOrder(const CostProblem& problem);

  /// Sets `steps` and `left`, and adds a null table for each distinct step: eliminates variables as far as the limits
  /// allow. Called once.
  void find(const EliminationLimits& limits);

  std::vector<EliminationStep> steps;
  std::vector<CostValues> tables;  // null: to be computed by a step
  std::vector<size_t> left;        // variables that were not eliminated
  const std::vector<CostFunction>& functions() const { return functions_; }
  /// Indices in `functions()` of the functions of a remaining variable.
  const std::set<size_t>& functions_of(size_t variable) const { return functions_of_[variable]; }

 private:
  double size_of(size_t variable) const { return static_cast<double>(problem_.variables[variable].size()); }
  void add(CostFunction function);
  double fill_of(size_t variable) const;
  bool exceeds(size_t variable, const EliminationLimits& limits) const;
  void eliminate(size_t variable);

  const CostProblem& problem_;
  std::vector<CostFunction> functions_;
  std::vector<std::set<size_t>> functions_of_, neighbours_;  // per variable
  std::unordered_map<std::string, size_t> table_cache_;      // key of a step to the index of its table
  double work_ = 0;
};

}  // namespace partita
