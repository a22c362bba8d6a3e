#pragma once
// Applies a plan: the same program on shards.

#include "lowering/plan.h"
#include "partition/local_graph.h"

namespace partita {

struct PartitionOptions {
  /// A value that is partial over ranks stays so through ops that are linear in it and is scattered where its user
  /// wants it cut; when off, every partial value is reduced on all ranks right where it arises.
  bool partial_sums = true;
};

/// Applies a plan that was verified.
LocalGraph partition(const Graph& graph, const OpSet& ops, const Plan& plan, const PartitionOptions& options = {});

}  // namespace partita
