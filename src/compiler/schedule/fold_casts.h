#pragma once
// Finds nodes with casts around them to or from 16 bits, which a kernel computes without the casts.

#include <map>

#include "compiler/schedule/shard_kernels.h"

namespace partita {

/// A node whose instruction takes the values that were cast to its operands, and may make what casts of its results
/// make.
struct FoldedNode {
  NodeValues values;
  KernelChoice choice;  // the kernel that accepts it, if all operands are plain
};

struct FoldedCasts {
  std::map<NodeId, FoldedNode> nodes;
  std::vector<bool> is_left_out;  // per node: a cast that no instruction runs

  const FoldedNode* find(NodeId node) const;
};

/// Finds the nodes with operands that are casts from one 16-bit type, or with results that a cast to 16 bits alone
/// uses, for which the catalog has a kernel without these casts. Of an op whose `OpTraits::halves` name operands, all
/// these must be such casts. A kernel that gives the results of the node is asked for first. If the same kernel rounds
/// them as well, the node makes what the casts would. A sum of parts is never used by such a cast, so it is whole
/// before it is rounded. For the same reason no kernel that rounds (`KernelChoice::rounds`) makes parts of a sum,
/// unless it is said to.
///
/// Casts whose results nothing else uses are left out. Without kernels that mix types, nothing is folded. Throws what
/// the catalog throws.
FoldedCasts fold_casts(const LocalGraph& local, const OpSet& ops, const KernelCatalog& catalog);

/// Whether an instruction of a node may take `given` in place of the operand `value`: both are the same, or `value` is
/// a cast of `given`.
bool stands_for_operand(const Graph& graph, ValueId given, ValueId value);
/// Whether an instruction of a node may make `made` in place of the result `value`: both are the same, or `made` is a
/// cast of `value`.
bool stands_for_result(const Graph& graph, ValueId made, ValueId value);

/// The kernels of a catalog. Unless it folds, those that mix 16-bit and wider floats are refused.
class FoldingCatalog final : public KernelCatalog {
 public:
  /// `ops` and `catalog` must outlive this object.
  FoldingCatalog(const OpSet& ops, const KernelCatalog& catalog, bool folds)
      : ops_(ops), catalog_(catalog), folds_(folds) {}
  KernelChoice choose(const KernelQuery& query) const override;
  int64_t bytes(const Type& type, const MemoryFormat& format) const override { return catalog_.bytes(type, format); }

 private:
  const OpSet& ops_;
  const KernelCatalog& catalog_;
  const bool folds_;
};

}  // namespace partita
