#pragma once
// The part of a plan that sharding annotations of a graph decide.

#include "compiler/plan/complete_plan.h"

namespace partita {

/// Returns the partial plan that the annotations decide: cuts of annotated nodes, those shardings of their results that
/// an annotation gives, and shardings of the states that they use, such as parameters. Throws InvalidArgument if two
/// annotations need one state sharded differently, or if one does not fit its node or `mesh` (`cut_of`).
PartialPlan partial_plan_of_annotations(const Graph& graph, const Rules& rules, const Mesh& mesh);

bool has_annotations(const Graph& graph);

/// Returns the node's name, scope and source line: "matmul2 (in net/fc2 at zoo/mlp.cpp:13)". A scope or line that it
/// does not have is left out.
std::string describe(const Node& node);

}  // namespace partita
