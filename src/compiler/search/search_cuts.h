#pragma once
// Searches over cost graphs: which search runs over which axes of a mesh, and its result.

#include <limits>

#include "compiler/plan/block_sharding.h"
#include "compiler/plan/complete_plan.h"
#include "compiler/search/forward_nodes.h"
#include "compiler/search/plan_costs.h"
#include "compiler/search/search_kind.h"

namespace partita {

struct CutSearch {
  Search kind = Search::exact;  // any but propagation
  PlanCosts costs;
  bool uneven = true;                                          // whether parts may differ by one
  double max_bytes = std::numeric_limits<double>::infinity();  // maximum bytes of a rank's memory
  /// Weight of bytes of a rank's memory relative to seconds, from 0 (none) to kMaxSqueeze (more than all seconds).
  int64_t squeeze = 0;
};

struct FoundCuts {
  PartialPlan partial;  // for `complete_plan`
  double seconds = 0;   // seconds of a step, by the costs of the search
  /// No plan over these axes that takes at most `max_bytes`, in the groupings that `search_cuts` describes, costs
  /// less; 0 if the search gives no bound.
  double lower_bound = 0;
  double bytes = 0;  // bytes of a rank's memory
};

/// Returns cuts for the forward nodes of a graph. Decisions of `pinned` are kept.
/// On a mesh of up to three axes, every axis is assigned by itself. On others, neighbouring axes are grouped into at
/// most three runs that are assigned as units. All such groupings that respect the pins are searched, or that of the
/// pins alone if it has more runs. The result is the fastest that takes at most `search.max_bytes`, else the smallest,
/// with the lower bound of all of them.
/// On a mesh of more than six axes without pins, the best two runs are found first and one of them is then split; the
/// lower bound is then 0.
FoundCuts search_cuts(const ForwardNodes& nodes, const Mesh& mesh, const PartialPlan& pinned, const CutSearch& search);
FoundCuts search_cuts(const Graph& graph, const Rules& rules, const OpSet& ops, const Mesh& mesh,
                      const PartialPlan& pinned, const CutSearch& search);

/// A cut of one node, and the cost of the best plan that has it.
struct PricedCut {
  Cut cut;
  double seconds = 0;
};
/// Returns all cuts of a forward node that a search compares in the groupings of `axis_groupings`, the cheapest first,
/// whatever `pinned` decides for that node. Memory does not count: only `search.costs` and `search.uneven` are used.
/// Where tables would be too large, seconds are lower bounds.
std::vector<PricedCut> price_cuts(const Graph& graph, const Rules& rules, const OpSet& ops, const Mesh& mesh,
                                  const PartialPlan& pinned, const CutSearch& search, size_t node);

/// Returns the groupings that `search_cuts` searches, each as runs of neighbouring axes, except for those that it makes
/// later by splitting a run, on a mesh of more than six axes without pins.
std::vector<std::vector<Axes>> axis_groupings(const Mesh& mesh, const PartialPlan& pinned);

}  // namespace partita
