#pragma once
// Replaces every node whose plan cuts an `expand` factor by the op's expansion into finer-grained nodes.

#include "compiler/plan/plan.h"
#include "ir/graph/rules.h"

namespace partita {

/// Shardings of values as one node uses them: axes per dimension.
using OperandDims = std::map<ValueId, std::vector<Axes>>;

struct Expanded {
  Graph graph;
  std::vector<std::optional<Cut>> cuts;          // per node; none: a node of an expansion, cut as its operands are
  std::map<NodeId, OperandDims> operands;        // per node of an expansion: operands as the expanded node cuts them
  std::map<ValueId, std::vector<Axes>> results;  // results of the plan, by values of `graph`
};

/// Whether the plan cuts a factor of some node that only an expansion can cut.
bool needs_expansion(const Plan& plan, const Rules& rules);
/// Returns the graph in which an expansion replaces every node whose cut needs it (`needs_expansion`), and the cuts and
/// shardings of `plan` for its nodes and values. `rules` are those of `graph`.
Expanded expand_nodes(const Graph& graph, const Rules& rules, const OpSet& ops, const Plan& plan);

}  // namespace partita
