#pragma once
// Plan completion: from decisions about a part of a graph to a plan for all of it, gradient nodes included.

#include <map>

#include "compiler/plan/plan.h"
#include "ir/graph/rules.h"

namespace partita {

/// What is decided of a plan before it is completed.
struct PartialPlan {
  std::vector<std::vector<Axes>> inputs;                 // per input of the graph
  std::vector<std::optional<std::vector<Axes>>> states;  // per state; none: as its users need it
  std::vector<std::optional<Cut>> cuts;                  // per node; none: as its neighbours are cut
  std::map<ValueId, std::vector<Axes>> results;          // values that are to lie otherwise than their nodes leave them

  /// Nothing decided, inputs not cut.
  explicit PartialPlan(const Graph& graph);
};

/// A node that nothing was decided about is cut as its operands are, and as its users are when no operand is cut. A
/// gradient node is cut as the node that it comes from: what that node used and made, and the gradients of these, lie
/// as they do there. A state lies as the forward node that cuts it into the most parts needs it, a state of the
/// optimizer as its parameter does, and updates are cut as their states are.
Plan complete_plan(const Graph& graph, const Rules& rules, const Mesh& mesh, std::string search, PartialPlan partial);

}  // namespace partita
