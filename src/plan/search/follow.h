#pragma once
// From decisions about a part of a graph to a plan for all of it.

#include <map>

#include "plan/plan.h"

namespace partita {

struct Decisions {
  std::vector<std::vector<Axes>> inputs;                 // per input of the graph
  std::vector<std::optional<std::vector<Axes>>> states;  // per state; none: as its users need it
  std::vector<std::optional<Cut>> cuts;                  // per node; none: it follows
  std::map<ValueId, std::vector<Axes>> results;          // values that are to lie otherwise than their nodes leave them

  /// Nothing decided, inputs not cut.
  explicit Decisions(const Graph& graph);
};

/// A node that nothing was decided about follows its operands, and its users when no operand is cut. A gradient node
/// follows the node it comes from: what that node used and made, and the gradients of these, lie as they do there. A
/// state lies as the forward node that cuts it into the most parts needs it, a slot like its parameter, and updates
/// follow the states.
Plan follow(const Graph& graph, const OpSet& ops, const Mesh& mesh, std::string search, Decisions decisions);

}  // namespace partita
