#include "plan/search/recursive.h"

#include <algorithm>
#include <numeric>

#include "plan/search/legal_cuts.h"

namespace partita {
namespace {

/// The cut, and the cut with one more axis on any of the factors.
std::vector<Cut> extended(const Cut& cut, const std::vector<Cut>& legal, int axis) {
  std::vector<Cut> found;
  for (const Cut& one : legal) {
    bool fits = true;
    for (size_t f = 0; f < cut.size() && fits; ++f) {
      Axes rest = one[f];
      if (!rest.empty() && rest.back() == axis) rest.pop_back();
      fits = rest == cut[f];
    }
    if (fits) found.push_back(one);
  }
  return found;
}

/// How much depends on a variable: what its alternatives cost at the most and at the least.
double spread_of(const CostVariable& variable) {
  const auto [low, high] = std::minmax_element(variable.seconds->begin(), variable.seconds->end());
  return *high - *low;
}

/// Each variable in turn as is best together with those before it.
std::vector<size_t> greedy(const CostProblem& problem) {
  std::vector<size_t> order(problem.variables.size()), chosen(problem.variables.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return spread_of(problem.variables[a]) > spread_of(problem.variables[b]);
  });
  std::vector<std::vector<size_t>> edges(problem.variables.size());
  for (size_t e = 0; e < problem.edges.size(); ++e) {
    edges[problem.edges[e].first].push_back(e);
    edges[problem.edges[e].second].push_back(e);
  }
  std::vector<bool> decided(problem.variables.size(), false);
  for (size_t v : order) {
    std::vector<double> sum = *problem.variables[v].seconds;
    for (size_t e : edges[v]) {
      const CostEdge& edge = problem.edges[e];
      const bool first = edge.first == v;
      const size_t other = first ? edge.second : edge.first;
      if (!decided[other]) continue;
      for (size_t a = 0; a < sum.size(); ++a) {
        sum[a] += first ? edge.table->at(a, chosen[other]) : edge.table->at(chosen[other], a);
      }
    }
    chosen[v] = static_cast<size_t>(std::min_element(sum.begin(), sum.end()) - sum.begin());
    decided[v] = true;
  }
  return chosen;
}

}  // namespace

CostGraph recursive_search(const ForwardNodes& nodes, const Mesh& mesh, const PartialPlan& pinned,
                           const CostGraphOptions& options) {
  const Graph& graph = nodes.graph();
  const Rules& rules = nodes.rules();
  CostGraphOptions own = options;
  own.candidates.assign(graph.nodes.size(), {});
  std::unordered_map<const ShardingRule*, std::vector<Cut>> legal;
  std::vector<size_t> open;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (!nodes.is_forward(n) || pinned.cuts[n]) continue;
    open.push_back(n);
    own.candidates[n] = {Cut(rules[n].factors.size())};
    auto& cuts = legal[&rules[n]];
    if (cuts.empty()) {
      cuts = legal_cuts(rules[n], mesh, {.expandable = rules.expandable(n), .uneven = options.uneven});
    }
  }
  for (int axis = 0; axis < static_cast<int>(mesh.rank_axes()); ++axis) {
    for (size_t n : open) own.candidates[n] = extended(own.candidates[n].front(), legal.at(&rules[n]), axis);
    const CostGraph costs = make_cost_graph(nodes, mesh, pinned, own);
    const std::vector<size_t> chosen = greedy(costs.problem);
    for (size_t n : open) {
      const size_t variable = static_cast<size_t>(costs.variable_of_node[n]);
      own.candidates[n] = {(*costs.nodes[variable])[chosen[variable]].cut};
    }
  }
  return make_cost_graph(nodes, mesh, pinned, own);
}

}  // namespace partita
