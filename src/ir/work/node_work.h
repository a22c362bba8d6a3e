#pragma once
// What a node computes on one rank, as far as its time depends on that: from its rule; the name of its
// op is for devices of which the speed of single ops is known.

#include "ir/graph/rules.h"
#include "ir/sharding/sharding.h"
#include "ir/work/work.h"

namespace partita {

/// Of one rank in one micro-batch; the bytes are those of the operands and results under these shardings.
Work work_of(const Graph& graph, const Rules& rules, size_t node, const Cut& cut,
             const std::vector<Sharding>& shardings, const Mesh& mesh);

/// Whether the sizes of a product are said: of products, attention, and convolutions as products of patches by filters.
bool has_product_sizes(WorkKind kind, const ShardingRule& rule);
/// Which of these sizes a factor of the rule is a part of, of the others `batch`.
double Work::*size_of_factor(WorkKind kind, const ShardingRule& rule, int factor);

}  // namespace partita
