#pragma once
// Cuts of nodes by the names that all graphs of a network share, as in plan files: people can write them, and every
// graph of the network can take them.

#include "compiler/plan/complete_plan.h"
#include "compiler/search/given_plan.h"

namespace partita {

/// Returns the lines that give the plan if `plan_of` reads them, by kind and then in the order of the graph, with
/// ranges of numbered layers: inputs with dimensions, cut forward nodes, entries of `plan.results`, and those states
/// and other nodes whose cuts do not follow from these. `others` of the result is none.
NamedCuts name_cuts(const Plan& plan, const Graph& graph, const Rules& rules);

/// Returns the decisions of the lines for a graph of the network, for `complete_plan`. Without `named.others`, other
/// forward nodes are not cut. Throws InvalidArgument "[FILE:LINE] .." for a name that does not exist (with the
/// nearest), for what two lines cut, other sizes, a text that is no cut, an axis that the mesh lacks, and an illegal
/// cut.
/// `any_purpose`: for a graph with another batch, or of an evaluation. Lines for what it does not have, or cannot cut
/// that way, are then skipped.
PartialPlan partial_plan_of(const NamedCuts& named, const Graph& graph, const Rules& rules, bool any_purpose = false);

/// Returns the completed plan. The search `named.others` decides the rest; without one, it follows from the lines
/// (`complete_plan`). If no line names a rounding of mixed precision, these follow from the other nodes
/// (plain_graph.h).
/// Throws InvalidArgument as `partial_plan_of` does.
Plan plan_of(const NamedCuts& named, const Graph& graph, const OpSet& ops, bool any_purpose = false);

/// Returns the cuts without the axis `axis` of the mesh, for the ranks that differ only in the others. The cuts stay as
/// they are if the mesh has no such axis. The mesh of the result has no list of ranks.
NamedCuts without_axis(NamedCuts named, std::string_view axis);

}  // namespace partita
