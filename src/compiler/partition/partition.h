#pragma once
// Second pass of applying a plan: lowers reshards to collectives.

#include "compiler/partition/insert_reshards.h"
#include "compiler/partition/local_graph.h"

namespace partita {

/// Replaces each reshard of a verified graph by the collective, or the local slice, that its two shardings require.
/// Returns the program on shards, whose prologue shares no node with the rest. Throws InternalError if a reshard is no
/// single move, or if no prologue can compute what a node of a micro-batch needs of all of them.
LocalGraph partition(ReshardedGraph resharded);

/// Applies a verified plan: inserts reshards (`insert_reshards`), then lowers them to collectives. Returns the program
/// on shards. Throws as the other overload does.
inline LocalGraph partition(const Graph& graph, const OpSet& ops, const Plan& plan,
                            const ReshardOptions& options = {}) {
  return partition(insert_reshards(graph, ops, plan, options));
}

}  // namespace partita
