#pragma once
// A search as numbers: variables with alternatives, and costs of alternatives and of pairs of them.

#include <memory>
#include <vector>

namespace partita {

/// Costs of pairs of alternatives, row by row: `columns` numbers for each alternative of the first variable. Shared by
/// all pairs of variables with the same relation.
struct CostTable {
  size_t rows = 0, columns = 0;
  std::vector<double> seconds;
  double at(size_t row, size_t column) const { return seconds[row * columns + column]; }
};
using CostTablePtr = std::shared_ptr<const CostTable>;

struct CostVariable {
  /// Cost of each alternative; infinite: not allowed. Shared by variables that are alike.
  std::shared_ptr<const std::vector<double>> seconds;
  std::shared_ptr<const std::vector<double>> bytes;  // bytes of memory, per alternative; null: none
  size_t size() const { return seconds->size(); }
};

struct CostEdge {
  size_t first = 0, second = 0;  // indices of two different variables
  CostTablePtr table;
};

struct CostProblem {
  std::vector<CostVariable> variables;
  std::vector<CostEdge> edges;

  /// Return a sum over `chosen`, which has an alternative per variable: `seconds` that of the costs of the variables
  /// and of the pairs in `edges`, `bytes` that of the variables' bytes of memory.
  double seconds(const std::vector<size_t>& chosen) const;
  double bytes(const std::vector<size_t>& chosen) const;
};

/// Result of a search.
struct SearchResult {
  std::vector<size_t> chosen;  // alternative per variable
  double seconds = 0;
  double lower_bound = 0;  // no choice costs less
};

}  // namespace partita
