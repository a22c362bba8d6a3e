#pragma once
// What the annotations of a graph decide.

#include "compiler/plan/complete_plan.h"

namespace partita {

/// The cuts of annotated nodes, how their results are to lie, and how the parameters do that they use: two annotations
/// that need one parameter cut differently are an error. Throws InvalidArgument as `cut_of` does.
PartialPlan partial_plan_of_annotations(const Graph& graph, const Rules& rules, const Mesh& mesh);

bool has_annotations(const Graph& graph);

/// "matmul2 (in net/fc2 at zoo/mlp.cpp:13)"
std::string describe(const Node& node);

}  // namespace partita
