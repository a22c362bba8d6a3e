#pragma once
// The program of one rank: the training graph on shards, every collective an explicit node. One local
// graph serves all ranks of a stage: types are kept global with a sharding, and a rank evaluates them
// at its coordinates.

#include "plan/plan.h"

namespace partita {

struct LocalGraph {
  Graph graph;  // types are global
  Mesh mesh;
  std::vector<Sharding> shardings;  // per value
  std::vector<Cut> cuts;            // per node; empty for collectives

  /// Local type of a value at a coordinate.
  Type type(ValueId value, const std::vector<int64_t>& coordinates) const;
  /// Attributes of a node at a coordinate; `ops` has its definition.
  Attrs attrs(NodeId node, const std::vector<int64_t>& coordinates, const OpSet& ops) const;
};

/// Shardings behind the types, shard-dependent attributes as tables; on one rank the text equals that
/// of the training graph.
std::string print(const LocalGraph& local, const OpSet& ops);
/// Throws InternalError: local types on every coordinate, partial values, stores and outputs.
void verify(const LocalGraph& local, const OpSet& ops);

}  // namespace partita
