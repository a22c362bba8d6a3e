#pragma once
// What the marks of a graph decide.

#include "plan/search/follow.h"

namespace partita {

/// The cuts of marked nodes, how their results are to lie, and how the parameters do that they use: two marks that need
/// one parameter cut differently are an error. Throws InvalidArgument as `cut_of` does.
Decisions decisions_of_marks(const Graph& graph, const OpSet& ops, const Mesh& mesh);

bool has_marks(const Graph& graph);

/// "matmul2 (in net/fc2 at zoo/mlp.cpp:13)"
std::string describe(const Node& node);

}  // namespace partita
