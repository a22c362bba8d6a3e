#pragma once
// Programs of ranks whose shards differ. There a value has the type `LocalGraph::largest`: in each dimension
// the elements of a rank's own shard come first. The others are padding, which may be any numbers.

#include <functional>
#include <string>
#include <vector>

#include "compiler/partition/local_graph.h"
#include "ir/graph/emit_call.h"

namespace partita {

/// Whether shards of a value differ in size, so that some ranks have padding.
bool is_padded(const LocalGraph& local, ValueId value);

/// An instruction of a program that the ranks at `ranks` run. Its operands and results are those of its node, or what
/// casts made them of, or make of them.
struct ShardedNode {
  const LocalGraph& local;
  const Rules& rules;
  NodeId id = -1;
  bool can_share = true;  // whether `emit` takes where a shard begins from EmitCall::begin
  std::vector<ValueId> inputs{}, outputs{};
  std::vector<std::vector<int64_t>> ranks{};  // coordinates of each replica, in this micro-batch
};

/// Writes a node by a call whose results have types of a shard, or of the largest one.
using EmitShard = std::function<std::vector<Hlo>(const EmitCall& call)>;

/// Writes a node, whose operands may have padding, such that the own elements of its results depend on no padding.
/// Results have the types `LocalGraph::largest`. Where its shards begin is data, if `can_share` and the op takes it so
/// (`OpTraits::take_place`). Ranks whose shards have other attributes choose among branches. So do ranks whose shards
/// differ in size, unless padding moves from operands to results alone, or zeros in its place change no sum, or an
/// infinity no maximum or minimum. Replaces the operands in `inputs` that got zeros by these.
std::vector<Hlo> emit_on_shards(HloBody& body, const ShardedNode& node, std::vector<Hlo>& inputs,
                                const EmitShard& emit);

/// Calls `emit` with operand `operand` of a node, `x`, without padding, in a branch for each of its types on ranks.
Hlo emit_without_padding(HloBody& body, const ShardedNode& node, const Hlo& x, size_t operand,
                         const std::function<Hlo(HloBody&, const Hlo&)>& emit);

}  // namespace partita
