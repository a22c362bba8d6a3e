#pragma once
// The first pass of applying a plan: between which shardings each operand is moved.

#include "compiler/partition/resharded_graph.h"
#include "compiler/plan/plan.h"

namespace partita {

struct ReshardOptions {
  /// A value that is partial over ranks stays so through ops that are linear in it and is scattered where its user
  /// wants it cut; when off, every partial value is reduced on all ranks right where it arises.
  bool partial_sums = true;
};

/// Expands the nodes whose cut needs it, and puts reshards between every value and the users, states and outputs that
/// need it in another sharding, from whichever sharding that it is there in already is the nearest. The plan was
/// verified.
ReshardedGraph insert_reshards(const Graph& graph, const OpSet& ops, const Plan& plan,
                               const ReshardOptions& options = {});
/// The same with rules that the table knows, or learns.
ReshardedGraph insert_reshards(const Graph& graph, RuleTable& table, const Plan& plan,
                               const ReshardOptions& options = {});

}  // namespace partita
