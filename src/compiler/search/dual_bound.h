#pragma once
// A bound below which no choice of a problem costs, by sequential tree-reweighted message passing (TRW-S; Kolmogorov,
// 2006).

#include <algorithm>

#include "compiler/search/cost_problem.h"

namespace partita {

struct DualBound {
  double lower_bound = 0;
  /// For each variable and alternative: no choice that has it costs less.
  std::vector<std::vector<double>> least;
  /// A choice that the messages suggest.
  std::vector<size_t> chosen;
};

/// `sweeps`: passes over all variables, forwards and backwards; fewer when the bound does not rise any more.
DualBound dual_bound(const CostProblem& problem, int sweeps);

/// The choice with single variables changed as long as that makes it cheaper (iterated conditional modes; Besag, 1986).
std::vector<size_t> polish(const CostProblem& problem, std::vector<size_t> chosen);

/// The problem without alternatives that are part of no choice that costs `most` or less.
struct ReducedProblem {
  CostProblem problem;
  std::vector<std::vector<size_t>> kept;  // per variable: the alternatives that are left

  /// The choice in the whole problem.
  std::vector<size_t> whole(std::vector<size_t> chosen) const {
    for (size_t v = 0; v < chosen.size(); ++v) chosen[v] = kept[v][chosen[v]];
    return chosen;
  }
  /// The other way, for a choice of which all is left.
  std::vector<size_t> position_of(std::vector<size_t> chosen) const {
    for (size_t v = 0; v < chosen.size(); ++v) {
      chosen[v] = static_cast<size_t>(std::find(kept[v].begin(), kept[v].end(), chosen[v]) - kept[v].begin());
    }
    return chosen;
  }
};
ReducedProblem without_costly(const CostProblem& problem, const DualBound& bound, double most);

}  // namespace partita
