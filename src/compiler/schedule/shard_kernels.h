#pragma once
// Chooses one kernel for the shards of all ranks.

#include "compiler/partition/local_graph.h"
#include "ir/kernels/kernel_catalog.h"

namespace partita {

/// The values that an instruction takes and makes. Those of its node, unless casts around it are folded.
struct NodeValues {
  std::vector<ValueId> inputs, outputs;
};

class ShardKernels {
 public:
  /// The arguments must outlive this object.
  ShardKernels(const LocalGraph& local, const OpSet& ops, const KernelCatalog& catalog)
      : local_(local), rules_(local.graph, ops), catalog_(catalog) {}

  /// Returns a kernel that serves every shard of the node; shards may differ in size by one element, or by more under a
  /// window. `format_of` returns the memory format of an operand. Throws InvalidArgument if the device has no kernel
  /// for some shard, or none for all of them. Throws what the catalog throws.
  KernelChoice choose(NodeId node, const std::function<MemoryFormat(ValueId)>& format_of) const;
  /// Returns a kernel that computes the node from and to these values, whose element types may be others than the
  /// node's, and serves every shard. Returns none if the device has none. Throws what the catalog throws.
  std::optional<KernelChoice> find(NodeId node, const NodeValues& values,
                                   const std::function<MemoryFormat(ValueId)>& format_of) const;

 private:
  std::vector<KernelQuery> queries_of(NodeId node, const NodeValues& values,
                                      const std::function<MemoryFormat(ValueId)>& format_of) const;
  bool serves_all(KernelChoice& choice, const std::vector<KernelQuery>& shards, size_t own) const;

  const LocalGraph& local_;
  const Rules rules_;
  const KernelCatalog& catalog_;
};

}  // namespace partita
