#pragma once
// The searches over a cost graph: which one, over which axes of a mesh, and what they found.

#include <limits>

#include "compiler/plan/block_sharding.h"
#include "compiler/plan/complete_plan.h"
#include "compiler/search/plan_costs.h"
#include "compiler/search/search_kind.h"

namespace partita {

struct CutSearch {
  Search kind = Search::exact;  // any but propagation
  PlanCosts costs;
  bool uneven = true;                                           // parts may differ by one
  double most_bytes = std::numeric_limits<double>::infinity();  // of a rank's memory
  /// How much bytes of a rank's memory weigh beside seconds, 0 (nothing) to kMaxSqueeze (more than all seconds).
  int64_t squeeze = 0;
};

struct FoundCuts {
  PartialPlan partial;  // to be completed
  double seconds = 0;   // of a step, by the costs of the search
  /// No plan over these axes that takes `most_bytes` or less, in the groupings that `search_cuts` says, costs less; 0
  /// where the search says nothing of that.
  double lower_bound = 0;
  double bytes = 0;  // of a rank's memory
};

/// Cuts for the forward nodes of a graph; what `pinned` has decided stays. On a mesh of up to three axes every axis is
/// assigned by itself. On others axes that follow one another go together, in every way to make up to three such runs
/// of them that keeps what the pins tell apart, or as the pins do where these tell more apart; the best of these is
/// taken, and the bound is that of all of them. On a mesh of more than six axes without pins the best two runs are
/// found first and then parted once more, which gives no bound.
FoundCuts search_cuts(const Graph& graph, const Rules& rules, const OpSet& ops, const Mesh& mesh,
                      const PartialPlan& pinned, const CutSearch& search);

/// A cut of one node, and what the best plan costs that has it.
struct PricedCut {
  Cut cut;
  double seconds = 0;
};
/// All cuts of a forward node that a search compares, the cheapest first.
std::vector<PricedCut> price_cuts(const Graph& graph, const Rules& rules, const OpSet& ops, const Mesh& mesh,
                                  const PartialPlan& pinned, const CutSearch& search, size_t node);

/// Lists of axes that follow one another, for each grouping that is searched, but for the runs that are parted again.
std::vector<std::vector<Axes>> axis_groupings(const Mesh& mesh, const PartialPlan& pinned);

}  // namespace partita
