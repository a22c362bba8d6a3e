#pragma once
// In which order variables leave a problem, and which of the steps are equal. Nothing is computed here.

#include <set>
#include <string>
#include <unordered_map>

#include "compiler/search/eliminate.h"

namespace partita {

using CostValues = std::shared_ptr<const std::vector<double>>;

/// What some variables cost together, row-major in their order. Equal functions of different variables share a table.
struct CostFunction {
  std::vector<size_t> variables;
  size_t table = 0;  // its place among all
};

/// One variable leaves the problem, and its functions become one of those around it.
struct EliminationStep {
  size_t variable = 0;
  std::vector<CostFunction> functions;
  std::vector<size_t> around;
  size_t result = 0;  // place of the table; there is none when nothing is around
};

/// Which variables are eliminated in which order, and which of the steps are equal: repeated parts of a problem are
/// solved once. Nothing is computed here.
/// Repeated parts of a problem share their steps, so that they are computed once.
class EliminationOrder {
 public:
  explicit EliminationOrder(const CostProblem& problem);

  /// Goes as far as the limits allow.
  void find(const EliminationLimits& limits);

  std::vector<EliminationStep> steps;
  std::vector<CostValues> tables;  // null: of a step, to be computed
  std::vector<size_t> left;        // variables that were not eliminated
  const std::vector<CostFunction>& functions() const { return functions_; }
  /// Those of a variable that is left.
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
  std::unordered_map<std::string, size_t> known_;            // places of tables, by what makes them
  double work_ = 0;
};

}  // namespace partita
