#pragma once
// The second pass of applying a plan: reshards become collectives.

#include "compiler/partition/insert_reshards.h"
#include "compiler/partition/local_graph.h"

namespace partita {

/// The same program on shards: each reshard of a verified graph is replaced by the collective, or the slice, that its
/// two shardings mean.
LocalGraph partition(ReshardedGraph resharded);

/// Both passes one after the other.
inline LocalGraph partition(const Graph& graph, const OpSet& ops, const Plan& plan,
                            const ReshardOptions& options = {}) {
  return partition(insert_reshards(graph, ops, plan, options));
}

}  // namespace partita
