#pragma once
// Lower bound of all choices of a problem, by sequential tree-reweighted message passing (TRW-S; Kolmogorov, 2006).

#include <algorithm>

#include "compiler/search/cost_problem.h"

namespace partita {

struct DualBound {
  double lower_bound = 0;
  /// Per variable and alternative: a lower bound of all choices that contain it.
  std::vector<std::vector<double>> least;
  /// A choice that the messages suggest.
  std::vector<size_t> chosen;
};

/// Returns the bound after at most `sweeps` passes over all variables, forwards and backwards; fewer if the bound stops
/// rising.
DualBound dual_bound(const CostProblem& problem, int sweeps);

/// Returns the choice after changes of single variables, made as long as they make it cheaper (iterated conditional
/// modes; Besag, 1986).
std::vector<size_t> polish(const CostProblem& problem, std::vector<size_t> chosen);

/// A problem without the alternatives that no choice of cost `most` or less contains, and the way back. It has no
/// bytes.
struct ReducedProblem {
  CostProblem problem;
  std::vector<std::vector<size_t>> kept;  // per variable: the remaining alternatives

  /// Returns the same choice in the whole problem.
  std::vector<size_t> whole(std::vector<size_t> chosen) const {
    for (size_t v = 0; v < chosen.size(); ++v) chosen[v] = kept[v][chosen[v]];
    return chosen;
  }
  /// Returns a choice of the whole problem in this one. All of its alternatives must remain.
  std::vector<size_t> position_of(std::vector<size_t> chosen) const {
    for (size_t v = 0; v < chosen.size(); ++v) {
      chosen[v] = static_cast<size_t>(std::ranges::find(kept[v], chosen[v]) - kept[v].begin());
    }
    return chosen;
  }
};
ReducedProblem without_costly(const CostProblem& problem, const DualBound& bound, double most);

}  // namespace partita
