#pragma once
// A graph with the sharding of every value: what the two passes of this folder make, the first with reshards as nodes,
// the second with collectives.

#include <functional>

#include "base/names.h"
#include "ir/graph/rules.h"
#include "ir/sharding/sharding.h"

namespace partita {

/// What of a step runs for each micro-batch apart from the rest: of a program without stages all in one; of a stage of
/// a pipeline its forward, then its backward, of which the gradients of parameters may be a part of their own.
enum class MicroSections { one, backward, weights };
template <>
inline constexpr auto kNames<MicroSections> = names("one", "backward", "weights");

struct ShardedGraph {
  Graph graph;  // types are global
  Mesh mesh;
  std::vector<Sharding> shardings;  // per value
  std::vector<Cut> cuts;            // per node; empty for those that move a value
  MicroSections sections = MicroSections::one;

  bool is_stage() const { return sections != MicroSections::one; }
};

/// The text of the graph with its mesh, shardings in the types and the cuts of the nodes; `note` is printed behind
/// nodes that have no cut. On one rank the text equals that of the graph.
std::string print(const ShardedGraph& sharded, const Rules& rules, const std::function<std::string(NodeId)>& note);

/// Reads it. Nodes whose op is not among `ops` but in `all` move values. `check` throws when parts do not fit together.
/// Throws InvalidArgument; messages of what is no matter of one line begin with `kind`.
ShardedGraph parse_sharded_graph(std::string_view text, const OpSet& ops, const OpSet& all, std::string_view kind,
                                 const std::function<void(const ShardedGraph&)>& check);

/// Throw InternalError: unless the shardings of the operands and results of a node follow from its cut; unless every
/// value has a sharding, states keep theirs, outputs are whole sums, halos are there for a node that reads them, and
/// micro-batches are equal slices that states and outputs hold all of.
void verify_cut(const ShardedGraph& sharded, NodeId node, const Rules& rules);
void verify_ends(const ShardedGraph& sharded);

}  // namespace partita
