#pragma once
// The work of a node on one rank, as far as its time depends on it. It follows from the node's rule; the op's name is
// for devices with measured speeds of single ops.

#include "ir/graph/rules.h"
#include "ir/sharding/sharding.h"
#include "ir/work/work.h"

namespace partita {

/// Returns the work of a node per rank and micro-batch. Bytes are those of its operands and results under `shardings`,
/// which is indexed by value. FLOPs are those of `flops_of`, but 0 for an op without operations. The sizes are set only
/// for a kind with product sizes; `repeated` is not set. Throws InternalError if the node has no rule.
Work work_of(const Graph& graph, const Rules& rules, size_t node, const Cut& cut,
             const std::vector<Sharding>& shardings, const Mesh& mesh);

/// Whether the work has the sizes of a product: products, attention, and convolutions as products of patches and
/// filters. Poolings have none.
bool has_product_sizes(WorkKind kind, const ShardingRule& rule);
/// Returns the member of Work, rows, columns, depth or batch, that a factor of the rule contributes to. The kind must
/// have product sizes.
double Work::*size_of_factor(WorkKind kind, const ShardingRule& rule, int factor);

}  // namespace partita
