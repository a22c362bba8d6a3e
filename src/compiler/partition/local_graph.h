#pragma once
// The program of one rank: the training graph on shards, every collective an explicit node. One local
// graph serves all ranks of a stage: types are kept global with a sharding, and a rank evaluates them
// at its coordinates.

#include "compiler/partition/sharded_graph.h"

namespace partita {

struct LocalGraph : ShardedGraph {
  /// Local type of a value at a coordinate.
  Type type(ValueId value, const std::vector<int64_t>& coordinates) const;
  /// The most that any coordinate holds of a value, dimension by dimension.
  Type largest(ValueId value) const;
  /// Coordinates that differ in the shapes and attributes of a node's shards, the last coordinate first: one for each
  /// combination of the two sizes of its parts, and of a factor under a window one for each part that differs.
  std::vector<std::vector<int64_t>> distinct_shards(NodeId node, const Rules& rules) const;
  /// Attributes of a node at a coordinate; `rules` are those of the graph.
  Attrs attrs(NodeId node, const std::vector<int64_t>& coordinates, const Rules& rules) const;
};

/// The text of a graph with its mesh, shardings in the types and the cuts of the nodes, all global: what a
/// rank holds follows from its coordinates. On one rank the text equals that of the training graph.
std::string print(const LocalGraph& local, const OpSet& ops);
/// Throws InvalidArgument; the result is verified.
LocalGraph parse_local_graph(std::string_view text, const OpSet& ops);
/// Throws InternalError: local types on every coordinate, partial values, stores and outputs.
void verify(const LocalGraph& local, const OpSet& ops);

}  // namespace partita
