#pragma once
// The program of one rank: the training graph on shards, with every collective as a node. One local graph serves all
// ranks of a stage: types are global, with a sharding, and a rank evaluates them at its coordinates.

#include "compiler/partition/sharded_graph.h"

namespace partita {

struct LocalGraph : ShardedGraph {
  /// Returns the local type of a value at the coordinates of a rank: that of its shard.
  Type type(ValueId value, const std::vector<int64_t>& coordinates) const;
  /// Returns the type of a value whose size in each dimension is the largest that any rank holds.
  Type largest(ValueId value) const;
  /// Returns coordinates in the mesh, at least one for each distinct combination of shapes and attributes of a node's
  /// shards. The first element is the last coordinate of the mesh. A cut factor adds nothing if its parts are equal,
  /// and one part if they have two sizes. A cut factor under a window adds every part whose shard differs from the
  /// others.
  std::vector<std::vector<int64_t>> distinct_shards(NodeId node, const Rules& rules) const;
  /// Returns the attributes of a node at a coordinate: those of the whole node unless it is cut and they depend on its
  /// shard. `rules` are those of the graph.
  Attrs attrs(NodeId node, const std::vector<int64_t>& coordinates, const Rules& rules) const;
};

/// Text of the graph with its mesh, the shardings in its types and the cuts of its nodes. All types are global; a
/// rank's shards follow from its coordinates. On one rank, without micro-batches and stages, the text equals that of
/// the graph that was partitioned.
std::string print(const LocalGraph& local, const OpSet& ops);
/// Checks shardings, partial values, states, outputs and sections, and that the op's inference yields the local types:
/// on every coordinate of up to 64, on the extreme ones of a larger mesh. Throws InternalError otherwise, or
/// InvalidArgument if an op refuses the shards of its operands or a collective is over an axis that the mesh lacks.
void verify(const LocalGraph& local, const OpSet& ops);

}  // namespace partita
