#pragma once
// Random small graphs, of any ops of the registry.

#include "compiler/plan/complete_plan.h"
#include "support/random_plan.h"

namespace partita {

/// About `nodes` nodes, at most one more, on values that fit them, and a loss; a training graph where gradients reach
/// parameters.
Graph random_graph(int64_t nodes, Dice& dice);

/// Cuts of some forward nodes, shardings of inputs and of some states.
PartialPlan random_pins(const Graph& graph, const Mesh& mesh, Dice& dice);

}  // namespace partita
