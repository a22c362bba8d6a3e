#include "compiler/search/dynamic.h"

#include <algorithm>
#include <numeric>

#include "compiler/search/dual_bound.h"
#include "compiler/search/eliminate.h"
#include "compiler/search/within_bytes.h"

namespace partita {
namespace {

constexpr double kMaxWork = 3e6;  // alternatives that an enumeration examines
constexpr int kCoreSweeps = 8;
constexpr double kCoreSlack = 1e-9;  // for rounding

/// Enumerates the choices of a small problem by branch and bound, cheaper alternatives first.
class Enumeration {
 public:
  Enumeration(const CostProblem& problem, std::vector<size_t> first)
      : problem_(problem), best_(std::move(first)), min_(problem.seconds(best_)) {
    edges_.resize(problem.variables.size());
    for (size_t e = 0; e < problem.edges.size(); ++e) {
      edges_[problem.edges[e].first].push_back(e);
      edges_[problem.edges[e].second].push_back(e);
    }
    for (const CostVariable& variable : problem.variables) {
      costs_.push_back(*variable.seconds);
      size_ += static_cast<double>(variable.size());
    }
    decided_.resize(problem.variables.size(), false);
    chosen_.resize(problem.variables.size());
  }

  /// Enumerates the choices. Returns whether it looked at all that could be cheapest, before `work_` exceeded kMaxWork;
  /// `best` returns the cheapest one found.
  bool run() {
    visit(0, 0);
    return work_ <= kMaxWork;
  }
  const std::vector<size_t>& best() const { return best_; }

 private:
  /// Enumerates the choices of the undecided variables and keeps the cheapest of all, until `work_` exceeds kMaxWork.
  /// `depth`: number of decided variables. `paid`: cost of these and their pairs.
  void visit(size_t depth, double paid) {
    if (depth == chosen_.size()) {
      if (paid < min_) {
        min_ = paid;
        best_ = chosen_;
      }
      return;
    }
    // The variable whose alternatives differ most is next.
    size_t next = 0;
    double bound = paid, spread = -1;
    for (size_t v = 0; v < costs_.size(); ++v) {
      if (decided_[v]) continue;
      const auto [low, high] = std::ranges::minmax_element(costs_[v]);
      bound += *low;
      const double own = std::min(*high - *low, std::numeric_limits<double>::max());
      if (own > spread) {
        spread = own;
        next = v;
      }
    }
    if (!(bound < min_) || (work_ += size_) > kMaxWork) return;
    std::vector<size_t> order(costs_[next].size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::sort(order, [&](size_t a, size_t b) { return costs_[next][a] < costs_[next][b]; });
    decided_[next] = true;
    for (size_t a : order) {
      const double own = costs_[next][a];
      if (!(paid + own < min_)) break;
      chosen_[next] = a;
      const std::vector<std::vector<double>> before = costs_;
      pay_pairs(next, a);
      visit(depth + 1, paid + own);
      costs_ = before;
    }
    decided_[next] = false;
  }

  /// Adds to the costs of the undecided neighbours of variable `v` those of their pairs with its alternative `a`.
  void pay_pairs(size_t v, size_t a) {
    for (size_t e : edges_[v]) {
      const CostEdge& edge = problem_.edges[e];
      const size_t other = edge.first == v ? edge.second : edge.first;
      if (decided_[other]) continue;
      for (size_t b = 0; b < costs_[other].size(); ++b) {
        costs_[other][b] += edge.first == v ? edge.table->at(a, b) : edge.table->at(b, a);
      }
    }
  }

  const CostProblem& problem_;
  std::vector<std::vector<size_t>> edges_;  // per variable
  std::vector<std::vector<double>> costs_;  // per variable, with those of pairs whose other variable is decided
  std::vector<bool> decided_;
  std::vector<size_t> chosen_, best_;
  double min_;
  double work_ = 0, size_ = 0;
};

SearchResult unconstrained(const CostProblem& problem) {
  const Elimination elimination(problem, {.around = 2});
  SearchResult result;
  if (elimination.left().empty()) {
    result.chosen = elimination.complete({});
    result.seconds = result.lower_bound = problem.seconds(result.chosen);
    return result;
  }
  const CostProblem core = elimination.core();
  const DualBound bound = dual_bound(core, kCoreSweeps);
  const std::vector<size_t> first = polish(core, bound.chosen);
  const ReducedProblem reduced = without_costly(core, bound, core.seconds(first) * (1 + kCoreSlack));
  Enumeration enumeration(reduced.problem, reduced.position_of(first));
  const bool ended = enumeration.run();
  result.chosen = elimination.complete(reduced.whole(enumeration.best()));
  result.seconds = problem.seconds(result.chosen);
  result.lower_bound = ended ? result.seconds : std::min(bound.lower_bound, result.seconds);
  return result;
}

}  // namespace

SearchResult dynamic_search(const CostProblem& problem, double max_bytes) {
  return search_within(problem, max_bytes, unconstrained);
}

}  // namespace partita
