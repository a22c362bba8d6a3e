#pragma once
// Programs of ranks whose shards differ in size. There a value has the type `LocalGraph::largest`: in each dimension
// the elements of a rank's own shard come first. The others are padding, which may be any numbers.

#include <functional>
#include <string>
#include <vector>

#include "compiler/partition/local_graph.h"
#include "ir/graph/hlo.h"

namespace partita {

/// Whether shards of a value differ in size, so that some ranks have padding.
bool is_padded(const LocalGraph& local, ValueId value);

/// A node of a local graph, for the ranks at `ranks` that run one program.
struct ShardedNode {
  const LocalGraph& local;
  const Rules& rules;
  NodeId id = -1;
  std::vector<std::vector<int64_t>> ranks{};  // coordinates, by replica
};

/// Writes a node on operands and results of some types.
using EmitShard = std::function<std::vector<Hlo>(HloBody& body, const Attrs& attrs, const std::vector<Hlo>& inputs,
                                                 const std::vector<Type>& outputs)>;

/// Writes a node, whose operands may have padding, such that the own elements of its results depend on no padding.
/// Results have the types `LocalGraph::largest`. Ranks whose shards have other attributes choose among branches. So do
/// ranks whose shards differ in size, unless padding moves from operands to results alone, or zeros in its place change
/// no sum.
std::vector<Hlo> emit_on_shards(HloBody& body, const ShardedNode& node, const std::vector<Hlo>& inputs,
                                const EmitShard& emit);

/// Calls `emit` with an operand of a node that has no padding, in a branch for each of its types on ranks.
Hlo emit_without_padding(HloBody& body, const ShardedNode& node, const Hlo& x, ValueId value,
                         const std::function<Hlo(HloBody&, const Hlo&)>& emit);

}  // namespace partita
