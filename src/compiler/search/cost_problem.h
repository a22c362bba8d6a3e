#pragma once
// A search as numbers: variables with alternatives, each of which costs something, and pairs of them that do.

#include <memory>
#include <vector>

namespace partita {

/// What pairs of alternatives cost, row by row: `columns` numbers for each alternative of the first variable. Shared by
/// all pairs of variables that stand in the same relation.
struct CostTable {
  size_t rows = 0, columns = 0;
  std::vector<double> seconds;
  double at(size_t row, size_t column) const { return seconds[row * columns + column]; }
};
using CostTablePtr = std::shared_ptr<const CostTable>;

struct CostVariable {
  /// Of each alternative; infinite: not allowed. Shared by variables that are alike.
  std::shared_ptr<const std::vector<double>> seconds;
  std::shared_ptr<const std::vector<double>> bytes;  // of memory; null: none
  size_t size() const { return seconds->size(); }
};

struct CostEdge {
  size_t first = 0, second = 0;  // variables, two different ones
  CostTablePtr table;
};

struct CostProblem {
  std::vector<CostVariable> variables;
  std::vector<CostEdge> edges;

  /// Of one alternative for each variable.
  double seconds(const std::vector<size_t>& chosen) const;
  double bytes(const std::vector<size_t>& chosen) const;
};

/// What a search found.
struct SearchResult {
  std::vector<size_t> chosen;  // per variable
  double seconds = 0;
  double lower_bound = 0;  // no choice costs less
};

}  // namespace partita
