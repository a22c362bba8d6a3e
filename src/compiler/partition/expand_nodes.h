#pragma once
// Replaces every node whose plan cuts an `expand` factor by the op's expansion into coarser nodes.

#include "compiler/plan/plan.h"
#include "ir/graph/rules.h"

namespace partita {

/// How values lie in one node.
using OperandDims = std::map<ValueId, std::vector<Axes>>;

struct Expanded {
  Graph graph;
  std::vector<std::optional<Cut>> cuts;          // per node; none: a node of an expansion, cut by its operands
  std::map<NodeId, OperandDims> operands;        // of such nodes: how operands of the expanded node lie, by its cut
  std::map<ValueId, std::vector<Axes>> results;  // those of the plan
};

/// Whether some node needs that.
bool needs_expansion(const Plan& plan, const Rules& rules);
/// `rules` are those of the graph.
Expanded expand_nodes(const Graph& graph, const Rules& rules, const OpSet& ops, const Plan& plan);

}  // namespace partita
