#pragma once
// One kernel for the shards of all ranks.

#include "compiler/partition/local_graph.h"
#include "ir/kernels/kernel_catalog.h"

namespace partita {

class ShardKernels {
 public:
  /// The arguments outlive the object.
  ShardKernels(const LocalGraph& local, const OpSet& ops, const KernelCatalog& catalog)
      : local_(local), rules_(local.graph, ops), catalog_(catalog) {}

  /// Shards may differ by one element, and under a window in more. `format_of`: where an operand lies. Throws
  /// InvalidArgument when the device has no kernel, or none for all.
  KernelChoice choose(NodeId node, const std::function<MemoryFormat(ValueId)>& format_of) const;

 private:
  std::vector<KernelQuery> queries_of(NodeId node, const std::function<MemoryFormat(ValueId)>& format_of) const;
  bool serves_all(KernelChoice& choice, const std::vector<KernelQuery>& shards, size_t own) const;

  const LocalGraph& local_;
  const Rules rules_;
  const KernelCatalog& catalog_;
};

}  // namespace partita
