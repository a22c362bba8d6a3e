#pragma once
// A graph on which a plan was applied, each change of a sharding an explicit node `reshard`. It is one step, from the
// sharding of its operand to that of its result: a move of ir/sharding/move.h, or an exchange of halos.

#include "compiler/partition/sharded_graph.h"

namespace partita {

inline constexpr const char* kReshard = "reshard";
inline constexpr const char* kRegather = "regather";  // a reason: of a state that each phase gathers anew

struct ReshardAttrs {
  std::string reason;  // "forward", "gradient", "store", "regather"
  static constexpr auto fields() { return std::tuple{field("reason", &ReshardAttrs::reason)}; }
};

struct ReshardedGraph : ShardedGraph {};

inline bool is_reshard(const Node& node) { return node.op == kReshard; }

/// Its text names shardings only; the collectives that they mean are the matter of the next pass. On one rank the text
/// equals that of the training graph.
std::string print(const ReshardedGraph& resharded, const OpSet& ops);
/// Throws InvalidArgument; the result is verified.
ReshardedGraph parse_resharded_graph(std::string_view text, const OpSet& ops);
/// Throws InternalError: shardings that do not follow from the cuts, reshards that are no single step.
void verify(const ReshardedGraph& resharded, const OpSet& ops);

}  // namespace partita
