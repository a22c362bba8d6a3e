#include "compiler/search/search_cuts.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "compiler/search/cost_graph.h"
#include "compiler/search/dynamic.h"
#include "compiler/search/exact.h"
#include "compiler/search/recursive.h"
#include "compiler/search/within_bytes.h"

namespace partita {
namespace {

constexpr size_t kMaxRuns = 3;  // runs of axes, unless pins tell more apart
constexpr size_t kMaxAxes = 6;  // axes of a mesh of which all groupings into runs are searched

/// Cost of all bytes of the fastest cuts, as a multiple of their seconds, by level of `squeeze`.
constexpr std::array<double, kMaxSqueeze> kByteWeights{0.1, 1, 10, 1e6};

using Boundaries = std::set<int>;  // axes before which a run ends

/// Calls `change` with every list of axes of a partial plan.
template <class Change>
void for_axes(PartialPlan& partial, const Change& change) {
  const auto for_dims = [&](std::vector<Axes>& dims) {
    for (Axes& axes : dims) change(axes);
  };
  for (auto& dims : partial.inputs) for_dims(dims);
  for (auto& dims : partial.states) {
    if (dims) for_dims(*dims);
  }
  for (auto& cut : partial.cuts) {
    if (cut) for_dims(*cut);
  }
  for (auto& [value, dims] : partial.results) for_dims(dims);
}

/// Returns the boundaries that the pins require: each list of axes in `pinned` must consist of whole runs.
Boundaries pinned_boundaries(const Mesh& mesh, PartialPlan pinned) {
  Boundaries boundaries;
  for_axes(pinned, [&](const Axes& axes) {
    for (size_t i = 0; i < axes.size(); ++i) {
      if (i == 0 || axes[i] != axes[i - 1] + 1) boundaries.insert(axes[i]);
      if (i + 1 == axes.size() || axes[i + 1] != axes[i] + 1) boundaries.insert(axes[i] + 1);
    }
  });
  boundaries.erase(0);
  boundaries.erase(static_cast<int>(mesh.rank_axes()));
  return boundaries;
}

Boundaries named_boundaries(const Mesh& mesh) {
  Boundaries boundaries;
  for (const auto& [name, size] : mesh.named()) {
    const Axes axes = mesh.find(name);
    if (!axes.empty() && axes.front() > 0) boundaries.insert(axes.front());
  }
  return boundaries;
}

std::vector<Axes> runs_between(const Boundaries& boundaries, const Mesh& mesh) {
  std::vector<Axes> runs(1);
  for (int axis = 0; axis < static_cast<int>(mesh.rank_axes()); ++axis) {
    if (boundaries.contains(axis)) runs.emplace_back();
    runs.back().push_back(axis);
  }
  return runs;
}

/// A mesh whose axes are runs of another mesh's axes, and conversion in both directions.
class Grouping {
 public:
  Grouping(const Mesh& mesh, std::vector<Axes> runs) : runs_(std::move(runs)) {
    if (runs_.size() == mesh.rank_axes()) {
      mesh_ = mesh;
      return;
    }
    std::vector<std::pair<std::string, int64_t>> named;
    for (const Axes& run : runs_) named.emplace_back(fmt::format("run{}", named.size()), mesh.ways(run));
    mesh_ = Mesh::undivided(named);
  }

  const Mesh& mesh() const { return mesh_; }

  PartialPlan grouped(PartialPlan partial) const {
    for_axes(partial, [&](Axes& axes) {
      Axes grouped;
      for (size_t at = 0; at < axes.size();) {
        const auto run = std::ranges::find_if(runs_, [&](const Axes& one) { return one[0] == axes[at]; });
        PARTITA_CHECK(run != runs_.end(), "pins cut a run of axes");
        grouped.push_back(static_cast<int>(run - runs_.begin()));
        at += run->size();
      }
      axes = std::move(grouped);
    });
    return partial;
  }

  PartialPlan single(PartialPlan partial) const {
    for_axes(partial, [&](Axes& axes) {
      Axes all;
      for (int run : axes) all.insert(all.end(), runs_[run].begin(), runs_[run].end());
      axes = std::move(all);
    });
    return partial;
  }

  /// Returns `costs` for the grouped mesh: a run is as slow as its slowest axis.
  PlanCosts grouped(PlanCosts costs) const {
    costs.links = grouped(costs.links);
    if (costs.gradient_links) costs.gradient_links = grouped(*costs.gradient_links);
    return costs;
  }

 private:
  LinkCosts grouped(const LinkCosts& single) const {
    LinkCosts links;
    for (const Axes& run : runs_) {
      double step = 0, byte = 0;
      for (int axis : run) {
        step = std::max(step, single.step[axis]);
        byte = std::max(byte, single.byte[axis]);
      }
      links.step.push_back(step);
      links.byte.push_back(byte);
    }
    return links;
  }

  std::vector<Axes> runs_;
  Mesh mesh_;
};

/// Returns the boundaries with one more, for each axis but the first; unchanged for one that is a boundary already.
std::set<Boundaries> with_one_more(const Boundaries& boundaries, const Mesh& mesh) {
  std::set<Boundaries> all;
  for (int axis = 1; axis < static_cast<int>(mesh.rank_axes()); ++axis) {
    Boundaries more = boundaries;
    more.insert(axis);
    all.insert(std::move(more));
  }
  return all;
}

/// Whether `first_groupings` returns all groupings into kMaxRuns runs that respect the pins.
bool searches_all_groupings(const Mesh& mesh, const PartialPlan& pinned) {
  return mesh.rank_axes() <= kMaxAxes || !pinned_boundaries(mesh, pinned).empty();
}

/// Returns the groupings that are searched first. On a mesh of at most kMaxRuns axes, each axis is a run. On others
/// there are at most kMaxRuns runs, unless the pins need more: the coarsest grouping that respects the pins, and finer
/// ones. For meshes of many axes without pins these have at most two runs, plus the grouping by the names of the axes.
std::set<Boundaries> first_groupings(const Mesh& mesh, const PartialPlan& pinned) {
  const Boundaries fixed = pinned_boundaries(mesh, pinned);
  const bool is_small = mesh.rank_axes() <= kMaxRuns;
  std::set<Boundaries> all;
  if (is_small) {
    Boundaries every;
    for (int axis = 1; axis < static_cast<int>(mesh.rank_axes()); ++axis) every.insert(axis);
    return {every};
  }
  all.insert(fixed);
  const size_t most = searches_all_groupings(mesh, pinned) ? kMaxRuns : kMaxRuns - 1;
  for (size_t runs = fixed.size() + 1; runs < most; ++runs) {
    for (const Boundaries& boundaries : std::set<Boundaries>(all)) all.merge(with_one_more(boundaries, mesh));
  }
  Boundaries named = named_boundaries(mesh);
  named.insert(fixed.begin(), fixed.end());
  if (named.size() < kMaxRuns) all.insert(std::move(named));
  return all;
}

/// Returns the grouping into two runs that has the lowest cost in `costs`; empty if there is none.
Boundaries cheapest_pair(const std::map<Boundaries, double>& costs) {
  Boundaries cheapest;
  for (const auto& [boundaries, seconds] : costs) {
    if (boundaries.size() == 1 && (cheapest.empty() || seconds < costs.at(cheapest))) cheapest = boundaries;
  }
  return cheapest;
}

SearchResult solve(const CostProblem& problem, const CutSearch& search) {
  return search.kind == Search::dynamic ? dynamic_search(problem, search.max_bytes)
                                        : exact_search(problem, search.max_bytes);
}

/// Returns the cuts that the search finds on a mesh whose axes are all assigned by themselves. `price`: cost of a byte
/// of a rank's memory, which the lower bound of the result includes and its seconds do not.
FoundCuts search_on(const ForwardNodes& nodes, const Mesh& mesh, const PartialPlan& pinned, const CutSearch& search,
                    double price) {
  const CostGraphOptions options{.costs = search.costs, .uneven = search.uneven};
  const auto found_in = [&](const CostGraph& costs) {
    const SearchResult found = solve(with_price(costs.problem, price), search);
    return FoundCuts{costs.partial_plan(found.chosen), costs.problem.seconds(found.chosen), found.lower_bound,
                     costs.problem.bytes(found.chosen)};
  };
  if (search.kind == Search::recursive) {
    FoundCuts found = found_in(recursive_search(nodes, mesh, pinned, options, search.max_bytes, price));
    found.lower_bound = 0;
    if (found.bytes <= search.max_bytes) return found;  // else all axes have to be cut at once
  }
  return found_in(make_cost_graph(nodes, mesh, pinned, options));
}

/// Returns the fastest cuts or, unless `search.squeeze` is 0, those found with the price of a byte that follows from
/// the fastest cuts and that level. The lower bound is that of the fastest cuts.
FoundCuts squeezed_search_on(const ForwardNodes& nodes, const Mesh& mesh, const PartialPlan& pinned,
                             const CutSearch& search) {
  FoundCuts fastest = search_on(nodes, mesh, pinned, search, 0);
  if (search.squeeze == 0) return fastest;
  const double weight = kByteWeights.at(static_cast<size_t>(search.squeeze - 1));
  FoundCuts found = search_on(nodes, mesh, pinned, search, weight * seconds_per_byte(fastest.seconds, fastest.bytes));
  found.lower_bound = fastest.lower_bound;
  return found;
}

}  // namespace

std::vector<std::vector<Axes>> axis_groupings(const Mesh& mesh, const PartialPlan& pinned) {
  std::vector<std::vector<Axes>> groupings;
  for (const Boundaries& boundaries : first_groupings(mesh, pinned))
    groupings.push_back(runs_between(boundaries, mesh));
  return groupings;
}

FoundCuts search_cuts(const Graph& graph, const Rules& rules, const OpSet& ops, const Mesh& mesh,
                      const PartialPlan& pinned, const CutSearch& search) {
  return search_cuts(ForwardNodes(graph, rules, ops), mesh, pinned, search);
}

FoundCuts search_cuts(const ForwardNodes& nodes, const Mesh& mesh, const PartialPlan& pinned, const CutSearch& search) {
  std::optional<FoundCuts> best;
  double bound = std::numeric_limits<double>::infinity();
  std::map<Boundaries, double> costs;  // costs of the groupings that were searched
  const auto search_in = [&](const std::set<Boundaries>& groupings) {
    for (const Boundaries& boundaries : groupings) {
      if (costs.contains(boundaries)) continue;
      const Grouping grouping(mesh, runs_between(boundaries, mesh));
      CutSearch own = search;
      own.costs = grouping.grouped(search.costs);
      FoundCuts found = squeezed_search_on(nodes, grouping.mesh(), grouping.grouped(pinned), own);
      costs[boundaries] = found.seconds;
      bound = std::min(bound, found.lower_bound);
      const auto rank = [&](const FoundCuts& one) {  // the fastest that fits, else the smallest
        const bool fits = one.bytes <= search.max_bytes;
        return std::pair(fits ? 0 : one.bytes, fits ? one.seconds : 0);
      };
      if (best && rank(found) >= rank(*best)) continue;
      found.partial = grouping.single(std::move(found.partial));
      best = std::move(found);
    }
  };
  search_in(first_groupings(mesh, pinned));
  if (!searches_all_groupings(mesh, pinned)) {
    search_in(with_one_more(cheapest_pair(costs), mesh));
    bound = 0;
  }
  best->lower_bound = bound;
  return std::move(*best);
}

std::vector<PricedCut> price_cuts(const Graph& graph, const Rules& rules, const OpSet& ops, const Mesh& mesh,
                                  const PartialPlan& pinned, const CutSearch& search, size_t node) {
  PartialPlan others = pinned;
  others.cuts.at(node).reset();
  const ForwardNodes nodes(graph, rules, ops);
  std::map<Cut, double> least;
  for (std::vector<Axes>& runs : axis_groupings(mesh, others)) {
    const Grouping grouping(mesh, std::move(runs));
    const CostGraph costs = make_cost_graph(nodes, grouping.mesh(), grouping.grouped(others),
                                            {.costs = grouping.grouped(search.costs), .uneven = search.uneven});
    const size_t variable = static_cast<size_t>(costs.variable_of_node.at(node));
    const std::vector<double> seconds = costs_of_alternatives(costs.problem, variable);
    for (size_t a = 0; a < seconds.size(); ++a) {
      PartialPlan one(graph);
      one.cuts[node] = (*costs.nodes[variable])[a].cut;
      const auto [entry, fresh] = least.try_emplace(*grouping.single(std::move(one)).cuts[node], seconds[a]);
      if (!fresh) entry->second = std::min(entry->second, seconds[a]);
    }
  }
  std::vector<PricedCut> priced;
  for (const auto& [cut, seconds] : least) priced.push_back({cut, seconds});
  std::ranges::stable_sort(priced, [](const PricedCut& a, const PricedCut& b) { return a.seconds < b.seconds; });
  return priced;
}

}  // namespace partita
