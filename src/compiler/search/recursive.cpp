#include "compiler/search/recursive.h"

#include "compiler/search/exact.h"
#include "compiler/search/legal_cuts.h"
#include "compiler/search/within_bytes.h"
#include "ir/sharding/axes.h"

namespace partita {
namespace {

void erase(Cut& cut, const Axes& axes) {
  for (Axes& list : cut) std::erase_if(list, [&](int axis) { return contains(axes, axis); });
}

/// Returns the legal cuts that differ from `cut` only in which factors, if any, the given axes cut.
std::vector<Cut> with_axes(Cut cut, const std::vector<Cut>& legal, const Axes& axes) {
  erase(cut, axes);
  std::vector<Cut> found;
  for (const Cut& one : legal) {
    Cut rest = one;
    erase(rest, axes);
    if (rest == cut) found.push_back(one);
  }
  return found;
}

/// Returns the axes of each round: each axis, then each pair of axes.
std::vector<Axes> rounds(const Mesh& mesh) {
  const int count = static_cast<int>(mesh.rank_axes());
  std::vector<Axes> all;
  for (int axis = 0; axis < count; ++axis) all.push_back({axis});
  for (int first = 0; first < count; ++first) {
    for (int second = first + 1; second < count; ++second) all.push_back({first, second});
  }
  return all;
}

/// Returns the number of parts into which the axes of ranks after `axis` together can cut what is left.
double later_ways(int axis, const Mesh& mesh) {
  double ways = 1;
  for (int later = axis + 1; later < static_cast<int>(mesh.rank_axes()); ++later) {
    ways *= static_cast<double>(mesh.axes()[static_cast<size_t>(later)].size);
  }
  return ways;
}

}  // namespace

CostGraph recursive_search(const ForwardNodes& nodes, const Mesh& mesh, const PartialPlan& pinned,
                           const CostGraphOptions& options, double max_bytes, double price) {
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
  for (const Axes& axes : rounds(mesh)) {
    for (size_t n : open) own.candidates[n] = with_axes(own.candidates[n].front(), legal.at(&rules[n]), axes);
    const CostGraph costs = make_cost_graph(nodes, mesh, pinned, own);
    const double most = axes.size() == 1 ? max_bytes * later_ways(axes[0], mesh) : max_bytes;
    const std::vector<size_t> chosen = exact_search(with_price(costs.problem, price), most).chosen;
    for (size_t n : open) {
      const size_t variable = static_cast<size_t>(costs.variable_of_node[n]);
      own.candidates[n] = {(*costs.nodes[variable])[chosen[variable]].cut};
    }
  }
  return make_cost_graph(nodes, mesh, pinned, own);
}

}  // namespace partita
