#pragma once
// Cuts of nodes by the names that all graphs of a network share, as in plan files: people can write them, and every
// graph of the network can take them.

#include "compiler/plan/complete_plan.h"
#include "compiler/search/given_plan.h"

namespace partita {

/// Returns the lines of a plan, without those that follow from the others. `others` of the result is none.
NamedCuts name_cuts(const Plan& plan, const Graph& graph, const Rules& rules);

/// Returns the decisions of the lines for a graph of the network, for `complete_plan`. Throws InvalidArgument
/// "[FILE:LINE] .." for a name that does not exist (with the nearest), a node that two lines name, other sizes, or an
/// illegal cut.
/// `any_purpose`: for a graph with another batch, or of an evaluation. Lines for what it does not have, or cannot cut
/// that way, are then skipped.
PartialPlan partial_plan_of(const NamedCuts& named, const Graph& graph, const Rules& rules, bool any_purpose = false);

/// Returns the completed plan. The search `named.others` decides the rest; without one, it follows from the lines
/// (`complete_plan`). Throws InvalidArgument as `partial_plan_of` does.
Plan plan_of(const NamedCuts& named, const Graph& graph, const OpSet& ops, bool any_purpose = false);

/// Returns the cuts without one axis of the mesh, for the ranks that differ only in the others. The same cuts if the
/// mesh has no such axis.
NamedCuts without_axis(NamedCuts named, std::string_view axis);

}  // namespace partita
