#pragma once
// First pass of applying a plan: inserts a reshard wherever a value is needed in another sharding.

#include "compiler/partition/resharded_graph.h"
#include "compiler/plan/plan.h"

namespace partita {

struct ReshardOptions {
  /// Whether a value that is partial over ranks stays partial through ops that are linear in it, and is scattered if
  /// its user needs it cut. If false, every partial value is reduced on all ranks where it arises.
  bool partial_sums = true;
};

/// Returns the graph with `plan` applied. Expands nodes whose cut needs it, then inserts reshards between each value
/// and the users, states and outputs that need it in another sharding. A reshard starts from the nearest sharding in
/// which the value already exists. The plan must be verified.
ReshardedGraph insert_reshards(const Graph& graph, const OpSet& ops, const Plan& plan,
                               const ReshardOptions& options = {});
/// Returns the graph with the verified `plan` applied: with expanded nodes, and with reshards between each value and
/// what needs it in another sharding. Takes sharding rules from `table`, and adds to it those that it lacks.
ReshardedGraph insert_reshards(const Graph& graph, RuleTable& table, const Plan& plan,
                               const ReshardOptions& options = {});

}  // namespace partita
