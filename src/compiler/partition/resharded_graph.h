#pragma once
// A graph to which a plan was applied. Each change of sharding is a node `reshard`: a single move of
// ir/sharding/move.h, or an exchange of halos, from the sharding of its operand to that of its result.

#include "compiler/partition/sharded_graph.h"

namespace partita {

inline constexpr const char* kReshard = "reshard";
inline constexpr const char* kRegather = "regather";  // reason of gathering a state anew in each phase

struct ReshardAttrs {
  std::string reason;  // "forward", "gradient", "store", "regather"
  static constexpr auto fields() { return std::tuple{field("reason", &ReshardAttrs::reason)}; }
};

struct ReshardedGraph : ShardedGraph {};

inline bool is_reshard(const Node& node) { return node.op == kReshard; }

/// Text of the graph with its mesh, shardings and cuts, without notes on reshards; the next pass chooses collectives.
/// On one rank, without micro-batches and stages, the text equals that of the graph without shardings.
std::string print(const ReshardedGraph& resharded, const OpSet& ops);
/// Checks that shardings follow from the cuts and that each reshard is a single move. Throws InternalError otherwise.
void verify(const ReshardedGraph& resharded, const OpSet& ops);

}  // namespace partita
