#pragma once
// Replaces every node whose plan cuts an `expand` factor by the op's expansion into coarser nodes.

#include "lowering/plan.h"

namespace partita {

struct Expanded {
  Graph graph;
  std::vector<std::optional<Cut>> cuts;          // per node; none: a node of an expansion, cut by its operands
  std::map<ValueId, std::vector<Axes>> results;  // those of the plan
};

Expanded expand_nodes(const Graph& graph, const OpSet& ops, const Plan& plan);

}  // namespace partita
