#pragma once
// Plan completion: from decisions about a part of a graph to a plan of all of it, gradient nodes included.

#include <map>

#include "compiler/plan/plan.h"
#include "ir/graph/rules.h"

namespace partita {

/// Decisions about a plan before its completion.
struct PartialPlan {
  std::vector<std::vector<Axes>> inputs;                 // per input of the graph
  std::vector<std::optional<std::vector<Axes>>> states;  // per state; none: as its users need it
  std::vector<std::optional<Cut>> cuts;                  // per node; none: follows from its neighbours
  std::map<ValueId, std::vector<Axes>> results;          // values with another sharding than their nodes produce

  /// Decides nothing; no input is cut.
  explicit PartialPlan(const Graph& graph);
  bool operator==(const PartialPlan&) const = default;
};

/// Returns the plan of the whole graph that follows from `partial`, with `search` as the name of the search that made
/// it. Does not check that the decisions are legal; `verify` does.
/// A node without a decision is cut as its operands are, or as its users are if no operand is cut. A gradient node is
/// cut as its origin: values that the origin uses or makes, and their gradients, keep the shardings that they have
/// there. A recomputed node is cut as the node that it copies.
/// A state without a decision is sharded as the decided node needs it that cuts it into the most parts, or not if there
/// is none; an optimizer state as its parameter, if it has as many dimensions. Updates are cut as their states are.
Plan complete_plan(const Graph& graph, const Rules& rules, const Mesh& mesh, std::string search, PartialPlan partial);

}  // namespace partita
